// SPDX-License-Identifier: MIT
// Show a figure large when it is pressed: in a dialog, with its caption, as wide as the window. On a
// phone it is wider than the window there, so that its words can be read, and scrolls.

const PICTURE = "svg.book-figure, img";

function enlarge(figure) {
  const picture = figure.querySelector(PICTURE);
  const place = document.createComment("the picture");
  const dialog = document.createElement("dialog");
  const close = document.createElement("button");
  const caption = document.createElement("div");
  const stage = document.createElement("div");
  dialog.className = "figure-large";
  dialog.setAttribute("aria-label", figure.querySelector(".caption-number")?.textContent.trim() || "Figure");
  close.textContent = "Close";
  close.className = "figure-close";
  stage.className = "figure-stage";
  stage.tabIndex = 0; // a keyboard can scroll it
  caption.append(...[...(figure.querySelector("figcaption p")?.childNodes ?? [])].map((one) => one.cloneNode(true)));
  caption.querySelectorAll(".headerlink").forEach((link) => link.remove());

  figure.style.minHeight = `${figure.offsetHeight}px`; // the page behind does not move
  picture.replaceWith(place);
  stage.append(picture);
  dialog.append(close, stage, caption);
  document.body.append(dialog);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    place.replaceWith(picture);
    figure.style.minHeight = "";
    dialog.remove();
    figure.querySelector(".figure-enlarge").focus({ preventScroll: true });
  });
  dialog.showModal();
}

for (const figure of document.querySelectorAll(".bd-article figure")) {
  const picture = figure.querySelector(PICTURE);
  if (!picture || picture.closest("a, .applet")) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "figure-enlarge";
  button.setAttribute("aria-label", `Enlarge ${figure.querySelector(".caption-number")?.textContent.trim() || "the figure"}`);
  button.addEventListener("click", () => enlarge(figure));
  picture.addEventListener("click", () => enlarge(figure)); // the button says it to everyone else
  figure.append(button); // last: whatever comes before a sibling has the browser style that anew
}
