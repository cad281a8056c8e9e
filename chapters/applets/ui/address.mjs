// SPDX-License-Identifier: MIT
/**
 * The state of an applet in the address: `#applet-NAME&name=value&…`.
 *
 * It stands behind the `#`, which a browser sends to no server.
 */

const LONGEST = 2000; // characters; beyond, programs cut links

/** Read which element the address means, and the state that it gives it. */
export function readAddress() {
  const [id, ...state] = location.hash.slice(1).split("&");
  return { id, state: new URLSearchParams(state.join("&")) };
}

/**
 * Write an address; a state that is too long for one is left out.
 * @param {string} id Of an element.
 * @param {Object<string, string|number>} state
 */
export function addressOf(id, state) {
  const said = new URLSearchParams(state).toString();
  return said && said.length <= LONGEST ? `#${id}&${said}` : `#${id}`;
}
