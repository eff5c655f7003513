// What a test process and its supervisor say to each other, one JSON object per line. Types only.

export type Command =
  | {
      readonly id: number;
      readonly do: "start";
      readonly daemon: string;
      readonly file: string;
      readonly args: readonly string[];
      readonly log: string;
    }
  /** Waits for the end; after some seconds it is killed whatever the signal was. */
  | {
      readonly id: number;
      readonly do: "stop";
      readonly daemon: string;
      readonly signal: NodeJS.Signals;
    }
  | {
      readonly id: number;
      readonly do: "signal";
      readonly daemon: string;
      readonly signal: NodeJS.Signals;
    };

export type Reply =
  /** Once, first: the folder that this supervisor made and will remove. */
  | { readonly ready: string }
  | { readonly id: number; readonly pid?: number; readonly error?: string }
  | { readonly exited: string; readonly code: number | null; readonly signal: string | null };
