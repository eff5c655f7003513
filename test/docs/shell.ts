// Test tool: a command line as a shell would take it apart: text in, the simple commands in it out, those inside of $(…) and <(…)
// too. It knows as much of the grammar as the docs use, and refuses what it does not know.

/** Words of one program's run; redirections and assignments in front of it are gone. */
export type SimpleCommand = readonly string[];

const ASSIGNMENT = /^[A-Za-z_]\w*=/;

export function parseShell(line: string): readonly SimpleCommand[] {
  const reader = new Reader(line);
  return reader.read();
}

class Reader {
  readonly #line: string;
  readonly #found: SimpleCommand[] = [];
  #at = 0;
  #words: string[] = [];
  #word: string | undefined;
  #redirects = false;

  constructor(line: string) {
    this.#line = line;
  }

  read(): readonly SimpleCommand[] {
    while (this.#at < this.#line.length) this.#step();
    this.#endCommand();
    return this.#found;
  }

  #step(): void {
    const rest = this.#line.slice(this.#at);
    const char = rest[0] ?? "";
    if (char === "'" || char === '"') return this.#quoted(char);
    if (char === "\\") return this.#take(rest[1] ?? "", 2);
    if (rest.startsWith("$(") || rest.startsWith("<(")) return this.#substitution();
    if (char === "#" && this.#word === undefined) return this.#skipComment();
    if (/\s/.test(char)) return this.#endWord(1);
    if (rest.startsWith("&&") || rest.startsWith("||")) return this.#endCommand(2);
    if (char === "|" || char === ";") return this.#endCommand(1);
    if (char === ">" || char === "<") {
      this.#endWord(rest.startsWith(">>") ? 2 : 1);
      this.#redirects = true;
      return;
    }
    if (char === "&" || char === "`" || char === "(" || char === ")") {
      throw new Error(`the docs have no "${char}" in a command: ${this.#line}`);
    }
    this.#take(char, 1);
  }

  #take(text: string, length: number): void {
    this.#word = (this.#word ?? "") + text;
    this.#at += length;
  }

  #quoted(quote: string): void {
    const end = this.#line.indexOf(quote, this.#at + 1);
    if (end < 0) throw new Error(`a quote that does not end: ${this.#line}`);
    const text = this.#line.slice(this.#at + 1, end);
    if (quote === '"') this.#parseInside(text);
    this.#take(text, end + 1 - this.#at);
  }

  /** "$(…)" inside of double quotes. */
  #parseInside(text: string): void {
    for (const [, inner = ""] of text.matchAll(/\$\(([^)]*)\)/g)) {
      this.#found.push(...parseShell(inner));
    }
  }

  #substitution(): void {
    const end = this.#line.indexOf(")", this.#at);
    if (end < 0) throw new Error(`a parenthesis that does not end: ${this.#line}`);
    this.#found.push(...parseShell(this.#line.slice(this.#at + 2, end)));
    this.#take(this.#line.slice(this.#at, end + 1), end + 1 - this.#at);
  }

  #skipComment(): void {
    this.#at = this.#line.length;
  }

  #endWord(length = 0): void {
    this.#at += length;
    if (this.#word === undefined) return;
    const isAssignment = this.#words.length === 0 && ASSIGNMENT.test(this.#word);
    if (!this.#redirects && !isAssignment) this.#words.push(this.#word);
    this.#redirects = false;
    this.#word = undefined;
  }

  #endCommand(length = 0): void {
    this.#endWord();
    if (this.#redirects) throw new Error(`a redirection to nowhere: ${this.#line}`);
    if (this.#words.length > 0) this.#found.push(this.#words);
    this.#words = [];
    this.#at += length;
  }
}
