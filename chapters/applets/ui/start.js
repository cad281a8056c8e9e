// SPDX-License-Identifier: MIT
// Start the applets of a page. From a server each is a module of its own; a page that was opened
// from a disk may not load modules, and gets all of them as one script. Where that fails, the static
// form is shown whole.
(() => {
  const { src, dataset } = document.currentScript;
  const names = dataset.applets.split(" ");
  const version = dataset.version; // "?v=…", new with every change of a module or a model
  const root = new URL("./", src).href;
  globalThis.ptBook = { root, version, files: {} };
  const giveUp = (name) => {
    for (const applet of document.querySelectorAll(`pt-${name}`)) applet.dataset.state = "failed";
  };
  if (location.protocol === "file:") {
    const script = document.createElement("script");
    script.src = `${root}bundle.js${version}`;
    script.onerror = () => names.forEach(giveUp);
    document.head.append(script);
  } else {
    for (const name of names) import(`${root}${name}.mjs${version}`).catch(() => giveUp(name));
  }
})();
