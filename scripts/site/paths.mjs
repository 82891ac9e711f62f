import { join } from 'node:path'

/** This folder: root of VitePress. */
export const HERE = import.meta.dirname
export const ROOT = join(HERE, '../..')
/** Copies of the pages, with links for the site. */
export const SOURCE = join(ROOT, 'dist/site-source')
export const OUTPUT = join(ROOT, 'dist/site')
