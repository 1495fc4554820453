/**
 * Projects: `unit` (sources, no build needed), `webgpu` (sources, on a GPU or a software Vulkan), `tensorflow` (suites of losses and engine, on
 * TensorFlow), `e2e` (the built command line), `dist` (the packed package).
 */
const common = {
  testEnvironment: "node",
  setupFiles: ["<rootDir>/test/setup.ts"],
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      {
        jsc: {
          parser: { syntax: "typescript", decorators: true },
          transform: { legacyDecorator: true },
          target: "es2022",
        },
        module: { type: "es6" },
      },
    ],
  },
  moduleNameMapper: {
    "^verl$": "<rootDir>/core/index.ts",
    "^verl/plugins$": "<rootDir>/plugins/index.ts",
    "^verl/testing$": "<rootDir>/core/testing/index.ts",
  },
  modulePathIgnorePatterns: ["<rootDir>/dist", "<rootDir>/runs"],
};

const project = (name, testMatch, testPathIgnorePatterns = []) => ({
  ...common,
  displayName: name,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
  testPathIgnorePatterns: ["/node_modules/", "/fixtures/", ...testPathIgnorePatterns],
});

export default {
  // By default one core is left to the person at the keyboard.
  maxWorkers: "100%",
  // Jest keeps the modules of every test file (ES modules have no other end than the process's); a worker with a large heap takes longer to
  // leave than the half second after which it is called stuck.
  workerIdleMemoryLimit: "256MB",
  // A busy machine is slow, not wrong.
  testTimeout: 120_000,
  projects: [
    project(
      "unit",
      ["test/**/*.test.ts"],
      [
        "<rootDir>/test/(e2e|dist|bench)/",
        "<rootDir>/test/docs/(code-blocks|plugin-readmes)",
        "/webgpu[^/]*$",
        "/tensor-backend/tensorflow/",
        "/controller/ray/",
      ],
    ),
    project("webgpu", ["test/**/webgpu*.test.ts"]),
    {
      ...project("tensorflow", [
        "test/testing/built-ins.test.ts",
        "test/engine/*.test.ts",
        "test/tensor-backend/tensorflow/*.test.ts",
      ]),
      setupFilesAfterEnv: ["<rootDir>/test/tensor-backend/tensorflow/setup.ts"],
    },
    {
      ...project("ray", ["test/controller/ray/**/*.test.ts"]),
      // Ranks are processes of the build, and so is the controller.
      moduleNameMapper: { "^verl$": "<rootDir>/dist/index.js", "^verl/plugins$": "<rootDir>/dist/plugins.js" },
    },
    project("e2e", ["test/e2e/**/*.test.ts", "test/docs/{code-blocks,plugin-readmes}.test.ts"]),
    project("dist", ["test/dist/**/*.test.ts"]),
  ],
};
