// The version of this build. A test holds it equal to package.json.

export const VERSION = "0.1.0";
