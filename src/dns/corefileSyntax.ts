// CoreDNS, reading: the text of a Corefile in, its blocks with the place of every word out. Pure; changes nothing.
// Follows the lexer and the parser of CoreDNS to the letter, oddities included: an edit that takes a word for a comment
// would stop a cluster's DNS.

export interface Word {
  /** Without quotes. */
  readonly text: string;
  /** In the text, quotes included. */
  readonly start: number;
  readonly end: number;
  readonly line: number;
  /** Later than `line` when quotes hold line breaks. */
  readonly lastLine: number;
}

/** From "#" to the end of its line. */
export interface Comment {
  readonly start: number;
  readonly end: number;
}

/** A plugin in a server block, or an option in a plugin's block. */
export interface Directive {
  readonly name: Word;
  readonly args: readonly Word[];
  readonly braces?: { readonly open: Word; readonly close: Word };
  readonly lines: readonly Directive[];
}

export interface Block {
  readonly keys: readonly Word[];
  /** The name, when the block is a snippet: `(name) { … }`. */
  readonly snippet?: string;
  /** Absent: the only block of the file, which then needs no braces. */
  readonly braces?: { readonly open: Word; readonly close: Word };
  readonly lines: readonly Directive[];
}

export interface Corefile {
  readonly text: string;
  readonly blocks: readonly Block[];
  /** What is imported in the place of server blocks. */
  readonly imports: readonly Word[];
  readonly comments: readonly Comment[];
}

/** What is wrong with a Corefile, or in the way of a change to it: a sentence. */
export class CorefileError extends Error {
  override readonly name = "CorefileError";
}

const DEPTH_LIMIT = 50;
/** What Go takes for space; JavaScript's \\s differs. */
const SPACE = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;

export function parseCorefile(text: string): Corefile {
  const { words, comments } = split(text);
  const reader = createReader(words);
  const blocks: Block[] = [];
  const imports: Word[] = [];
  for (let word = reader.peek(); word !== undefined; word = reader.peek()) {
    if (word.text === "import") {
      imports.push(...parseDirective(reader, 0).args);
    } else {
      blocks.push(parseBlock(reader));
    }
  }
  return { text, blocks, imports, comments };
}

interface Reader {
  peek(): Word | undefined;
  take(): Word;
  /** The next word stands on a later line than the one before it. */
  isNewLine(): boolean;
}

function createReader(words: readonly Word[]): Reader {
  let next = 0;
  return {
    peek: () => words[next],
    take() {
      const word = words[next];
      if (word === undefined) throw new CorefileError("The Corefile ends inside a block.");
      next += 1;
      return word;
    },
    isNewLine() {
      const [before, word] = [words[next - 1], words[next]];
      return before === undefined || word === undefined || before.lastLine < word.line;
    },
  };
}

function parseBlock(reader: Reader): Block {
  const keys: Word[] = [];
  for (;;) {
    const word = reader.peek();
    if (word === undefined || word.text === "{") break;
    if (word.text === "}") throw unexpected(word);
    keys.push(reader.take());
    // A comma promises another key, which may stand on the next line.
    if (reader.isNewLine() && !word.text.endsWith(",")) break;
  }
  const snippet = keys.length === 1 ? /^\((.*)\)$/su.exec(keys[0]?.text ?? "")?.[1] : undefined;
  const named = snippet === undefined ? {} : { snippet };
  const open = reader.peek();
  if (open?.text === "{") {
    if (keys.length === 0) throw unexpected(open);
    reader.take();
    const { lines, close } = parseLines(reader, 1);
    return { keys, ...named, braces: { open, close }, lines };
  }
  if (snippet !== undefined) throw new CorefileError(`The snippet (${snippet}) has no braces.`);
  const lines: Directive[] = [];
  for (let word = reader.peek(); word !== undefined; word = reader.peek()) {
    if (word.text === "}") throw unexpected(word);
    lines.push(parseDirective(reader, 1));
  }
  return { keys, lines };
}

function parseLines(reader: Reader, depth: number): { lines: readonly Directive[]; close: Word } {
  const lines: Directive[] = [];
  for (;;) {
    const word = reader.peek();
    if (word === undefined) throw new CorefileError("The Corefile ends inside a block.");
    if (word.text === "}") return { lines, close: reader.take() };
    lines.push(parseDirective(reader, depth));
  }
}

function parseDirective(reader: Reader, depth: number): Directive {
  if (depth > DEPTH_LIMIT) throw new CorefileError(`Blocks are nested deeper than ${DEPTH_LIMIT}.`);
  const name = reader.take();
  if (name.text === "{") throw unexpected(name);
  const args: Word[] = [];
  for (;;) {
    const word = reader.peek();
    if (word === undefined) return { name, args, lines: [] };
    if (word.text === "{" && !reader.isNewLine()) break;
    if (reader.isNewLine()) return { name, args, lines: [] };
    if (word.text === "}") throw unexpected(word);
    args.push(reader.take());
  }
  const open = reader.take();
  const { lines, close } = parseLines(reader, depth + 1);
  const after = reader.peek();
  if (after !== undefined && !reader.isNewLine()) throw unexpected(after);
  return { name, args, braces: { open, close }, lines };
}

function unexpected(word: Word): CorefileError {
  return new CorefileError(`Line ${word.line} of the Corefile has a ${word.text} out of place.`);
}

/** One step of CoreDNS's lexer after the other. */
function split(text: string): { words: readonly Word[]; comments: readonly Comment[] } {
  const words: Word[] = [];
  const comments: Comment[] = [];
  let line = 1;
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === "\n") line += 1;
    if (SPACE.test(char)) {
      at += 1;
    } else if (char === "#") {
      const end = findLineEnd(text, at);
      comments.push({ start: at, end });
      at = end;
    } else {
      const word = char === '"' ? readQuoted(text, at, line) : readPlain(text, at, line);
      words.push(word);
      line = word.lastLine;
      at = word.end;
      // A "#" right behind a word hides what follows up to the next space, not up to the end of the line.
      if (char !== '"') at = skipStuckComment(text, at);
    }
  }
  return { words, comments };
}

function skipStuckComment(text: string, start: number): number {
  let at = start;
  while (at < text.length && (text.charAt(at) === "\r" || !SPACE.test(text.charAt(at)))) at += 1;
  return at;
}

function readPlain(source: string, start: number, line: number): Word {
  let end = start;
  let text = "";
  for (let at = start; at < source.length; at += 1) {
    const char = source.charAt(at);
    // Skipped wherever it stands, even inside a word.
    if (char === "\r") continue;
    if (char === "#" || SPACE.test(char)) break;
    text += char;
    end = at + 1;
  }
  return { text, start, end, line, lastLine: line };
}

function readQuoted(source: string, start: number, line: number): Word {
  let text = "";
  let lastLine = line;
  for (let at = start + 1; at < source.length; at += 1) {
    const char = source.charAt(at);
    if (char === '"') return { text, start, end: at + 1, line, lastLine };
    if (char === "\n") lastLine += 1;
    text += char;
    if (char !== "\\") continue;
    // Whatever follows is taken as it is; only before quotes does the backslash go.
    at += 1;
    const next = source.charAt(at);
    if (next === "\n") lastLine += 1;
    text = next === '"' ? `${text.slice(0, -1)}"` : text + next;
  }
  throw new CorefileError(`The quotes that open in line ${line} of the Corefile never close.`);
}

export function findLineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  if (end === -1) return text.length;
  return end > at && text.charAt(end - 1) === "\r" ? end - 1 : end;
}

export function findLineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

export function newlineOf(text: string): string {
  return /\r?\n/u.exec(text)?.[0] ?? "\n";
}
