interface Resolution {
  url: string;
  format?: string | null;
}

type Next = (specifier: string, context: object) => Resolution | Promise<Resolution>;

/**
 * Module hook for the files of plugins and users. A `.ts` file is an ES module even where no package.json says so. What there must be
 * one copy of, and is not installed where a file asks for it, is this package's: a file in any folder may import from "verl".
 * It runs in the hooks' thread, so it uses nothing from outside itself.
 * @param home URL of a file of this package.
 */
export function moduleResolver(home: string) {
  const single = /^(verl|@tensorflow\/tfjs)(\/|$)/;
  const asModule = (found: Resolution): Resolution =>
    found.format === "commonjs" && /\.tsx?(\?|$)/.test(found.url) ? { ...found, format: "module" } : found;
  return (specifier: string, context: object, next: Next): Resolution | Promise<Resolution> => {
    const fromHome = (error: unknown): Resolution | Promise<Resolution> => {
      if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND" || !single.test(specifier)) throw error;
      return next(specifier, { ...context, parentURL: home });
    };
    try {
      const found = next(specifier, context);
      return found instanceof Promise ? found.catch(fromHome).then(asModule) : asModule(found);
    } catch (error) {
      return fromHome(error);
    }
  };
}
