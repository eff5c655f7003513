// Container images for a kubelet without containers: the name of an image in, the command that it stands for out.

/** By the name that Pods give in `image`. */
export type Images = ReadonlyMap<string, Image>;

export interface Image {
  /** File and first arguments; those of the container follow. */
  readonly command: readonly string[];
}

/** `backend` and `caller`, bundled into that folder. */
export async function bundlePrograms(_folder: string): Promise<Images> {
  throw new Error("The programs are not there yet.");
}
