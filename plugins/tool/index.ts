import { provide } from "verl";
import { Calculator } from "./calculator.ts";

export const tools = [
  provide("tool", "calculator", {
    description: "Evaluates arithmetic: + - * / // % **, brackets, pi, e and a few functions.",
    create: Calculator,
  }),
];
