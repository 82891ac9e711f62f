/** The client of Redis. The build joins its modules into `redis.cjs` (scripts/bundle/vendor.ts): the package takes 12 MB on disk. */
export { createClient } from '@redis/client'
