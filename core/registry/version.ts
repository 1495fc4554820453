/** Version of this package, and of the plugin API that it offers; equal to package.json by test. */
export const VERSION = "0.1.0";
