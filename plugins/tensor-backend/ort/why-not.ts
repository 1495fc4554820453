const PACKAGE = "onnxruntime-node";

/** Why the native binding did not load, and what to do, from what Node said. */
export function whyNot({ code, message }: NodeJS.ErrnoException): string {
  const firstLine = message.split("\n", 1)[0]!;
  const platform = `${process.platform}-${process.arch}`;
  if (code !== "MODULE_NOT_FOUND") {
    return `${PACKAGE}'s binary for ${platform} does not load (${firstLine}). On Linux it needs glibc; else use tensor_backend "wasm".`;
  }
  // Its files ask for the binary by a relative path; the package itself is asked for by name.
  return firstLine.includes(`'${PACKAGE}/`)
    ? `the package ${PACKAGE} is not installed. Run \`npm install ${PACKAGE}\`.`
    : `${PACKAGE} has no binary for ${platform}. Use tensor_backend "wasm".`;
}
