/** A file of the repository that is generated from the sources. */
export interface Generator {
  /** Path from the root of the package. */
  readonly file: string
  /** The whole content. The content is the same on every machine. */
  readonly render: () => string
  /**
   * Set for a generator that updates a part of a hand-written file. The build writes nothing where the file is absent, as `.github` is in
   * the build of the image.
   */
  readonly edits?: true
}
