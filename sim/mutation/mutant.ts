// Mutants: deliberate bugs, each as the text that it replaces in a source file. The product has no switch for them: they come
// in while the simulation is bundled (bundle.ts).

export interface Mutant {
  readonly name: string;
  /** What the code does wrong with it. */
  readonly sentence: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
  /** A world that shows it. Others do, too: it is where the search begins. */
  readonly seed: number;
  /** Only in worlds where clusters are drained. */
  readonly hasDrains?: boolean;
}
