import { createRunContainer, loadPlugins, registries } from "verl";
import { ANSWERS, hostileTexts, longCalls, piecesOf, TOOLS } from "./support/tool-parser-texts.mjs";

const LENGTH = 1_000_000;
/** Of hostile texts that come one letter at a time: a parser that copies the text for each would take a second. */
const IN_LETTERS = 100_000;

/** Processor time: other work on the machine counts for nothing. */
function millisecondsOf(work) {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function feed(parser, text, length, options) {
  const stream = parser.stream(options);
  for (const piece of piecesOf(text, length)) stream.push(piece);
  return stream.end();
}

/** The text that a piece of work takes longest for. */
function slowest(texts, work) {
  let worst = { ms: 0 };
  for (const { shape, text } of texts) {
    const ms = Math.min(...[0, 1].map(() => millisecondsOf(() => work(text))));
    if (ms > worst.ms) worst = { ms, shape, text };
  }
  return worst;
}

const nameOf = ({ shape }) => JSON.stringify(shape.slice(0, 80));

/**
 * Megabytes a second of ordinary answers, whole and in pieces of four letters; the slowest of the hostile texts of 1 MB, the median of
 * five; and the slowest of those and of long calls that come one letter at a time.
 */
export default async function bench(report) {
  await loadPlugins([]);
  const container = createRunContainer();
  for (const key of registries.tool_parser.keys().filter((key) => key in ANSWERS)) {
    const parser = container.create("tool_parser", key);
    const answer = ANSWERS[key];
    const { calls, errors } = parser.parse(answer);
    if (calls.length !== 1 || errors.length > 0)
      throw new Error(`${key} reads ${calls.length} calls, ${errors.length} errors`);
    const rounds = Math.ceil(LENGTH / answer.length);
    const whole = () => {
      for (let i = 0; i < rounds; i++) parser.parse(answer);
    };
    const inPieces = () => {
      for (let i = 0; i < rounds; i++) feed(parser, answer, 4);
    };
    const megabytes = (rounds * answer.length) / 1e6;
    const rate = (work) => megabytes / (Math.min(...[0, 1, 2, 3].map(() => millisecondsOf(work))) / 1000);
    report.row({ name: `${key}: answers of ${answer.length} letters`, value: rate(whole), unit: "MB/s" });
    report.row({ name: `${key}: the same in pieces of 4 letters`, value: rate(inPieces), unit: "MB/s" });

    const worst = slowest(hostileTexts(key, LENGTH), (text) => parser.parse(text, { tools: TOOLS }));
    // The compiler has seen the format by now; the first answers of a run cost up to twice that.
    const again = Array.from({ length: 5 }, () => millisecondsOf(() => parser.parse(worst.text, { tools: TOOLS })));
    report.row({
      name: `${key}: slowest hostile 1 MB, ${nameOf(worst)}`,
      value: again.sort((a, b) => a - b)[2],
      unit: "ms",
      versus: "at most 200",
    });

    const inLetters = (text) => feed(parser, text, 1, { tools: TOOLS });
    const streamed = slowest([...longCalls(key, IN_LETTERS), ...hostileTexts(key, IN_LETTERS)], inLetters);
    report.row({
      name: `${key}: one letter at a time, slowest ${nameOf(streamed)}`,
      value: streamed.text.length / 1e3 / streamed.ms,
      unit: "MB/s",
      versus: "at least 0.3",
    });
  }
}
