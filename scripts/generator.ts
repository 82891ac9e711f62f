/** A file of the repository that is made from the sources. */
export interface Generator {
  /** Path from the root of the package. */
  readonly file: string
  /** The whole content; the same on every machine. */
  readonly render: () => string
  /** Keeps a part of a hand-written file current. Where the file is absent, as `.github` is in the build of the image, nothing is written. */
  readonly edits?: true
}
