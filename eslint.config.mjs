import jest from "eslint-plugin-jest";
import prettier from "eslint-config-prettier";
import tseslint from "typescript-eslint";

/** Arrows between rooms run one way: a room may import the rooms listed for it, and itself. */
const ROOMS = {
  errors: [],
  registry: ["errors"],
  config: ["errors", "registry"],
  batch: ["errors", "registry"],
  tensor: ["errors", "registry"],
  algorithm: ["errors", "registry", "config", "batch", "tensor"],
  engine: ["errors", "registry", "config", "batch", "tensor"],
  data: ["errors", "registry", "config", "batch", "tensor"],
  reward: ["errors", "registry", "config", "batch", "tensor", "data"],
  agent: ["errors", "registry", "config", "batch", "tensor", "data", "engine", "reward"],
  controller: ["errors", "registry", "config", "batch", "tensor"],
  trainer: [
    "errors",
    "registry",
    "config",
    "batch",
    "tensor",
    "algorithm",
    "engine",
    "data",
    "reward",
    "agent",
    "controller",
  ],
};

/** Injection is the registry's business; everyone else imports `inject` from there. */
const NO_TSYRINGE = {
  name: "tsyringe",
  message: 'Only core/registry imports tsyringe; import `inject` from it, or from "verl".',
};

/** Files in a folder of a room are one step further from the other rooms. */
const DEPTHS = [
  { folder: "", up: "\\.\\./" },
  { folder: "*/", up: "\\.\\./\\.\\./" },
];

const oneWay = Object.entries(ROOMS).flatMap(([room, allowed]) =>
  DEPTHS.map(({ folder, up }) => ({
    files: [`core/${room}/${folder}*.ts`],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              regex: `^${up}(?!\\.\\./)(?!(${[room, ...allowed].join("|")})/)`,
              message: `core/${room} may import only: ${allowed.join(", ") || "nothing"}.`,
            },
            { regex: "plugins/|^verl", message: "core knows no plugin." },
          ],
          paths: room === "registry" ? [] : [NO_TSYRINGE],
        },
      ],
    },
  })),
);

export default tseslint.config(
  // Example plugins are packages of their own: their `npm run check` lints them.
  {
    ignores: [
      "api/",
      "dist/",
      "examples/plugins/",
      "templates/dist/",
      "runs/",
      "node_modules/",
      "**/fixtures/**",
      // AssemblyScript, which its own compiler checks.
      "plugins/kernel/host/assembly/",
      "templates/projects/**",
    ],
  },
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "max-lines": ["error", { max: 500 }],
      "no-eval": "error",
      "no-new-func": "error",
    },
  },
  {
    files: ["core/{cli,testing}/**/*.ts", "test/**/*.ts", "examples/**/*.ts"],
    rules: { "no-restricted-imports": ["error", { paths: [NO_TSYRINGE] }] },
  },
  ...oneWay,
  {
    files: ["plugins/**/*.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [{ regex: "(^|/)core/", message: 'Built-ins import the public face, "verl", as any plugin does.' }],
          paths: [NO_TSYRINGE],
        },
      ],
    },
  },
  {
    files: ["test/**/*.ts"],
    plugins: { jest },
    rules: {
      "jest/no-focused-tests": "error",
      "jest/no-disabled-tests": "error",
      "jest/no-identical-title": "error",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  prettier,
);
