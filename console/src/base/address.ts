// The console's own address. It is found from the address of this script, so that a proxy may serve the console under
// any path.

const here = import.meta.url;

/** The path of the console, with a slash at its end. */
export const CONSOLE_PATH = new URL('../', here).pathname;

/** The address of the API, without a slash at its end. */
export const API_URL = new URL('../../', here).href.replace(/\/$/, '');
