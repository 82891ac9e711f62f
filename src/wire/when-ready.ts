/**
 * Values that may have to be waited for. A value that is there is used at once: no microtask on the synchronous path.
 */

/** @returns a promise only for a promise; it rejects when the value or `next` does */
export function whenReady<T, R> (value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return isPromise(value) ? value.then(next) : next(value)
}

/** The same for several values, which are waited for together. */
export function whenAllReady<T, R> (
  values: readonly (T | Promise<T>)[], next: (values: readonly T[]) => R | Promise<R>
): R | Promise<R> {
  return values.some(isPromise) ? Promise.all(values).then(next) : next(values as readonly T[])
}

/** Calls `next` with the value. When the value is a promise, `failed` gets what the promise or `next` rejects with. */
export function whenSettled<T> (value: T | Promise<T>, next: (value: T) => void, failed: (error: unknown) => void): void {
  if (isPromise(value)) value.then(next).catch(failed)
  else next(value)
}

/** @returns the value when it is a promise, otherwise null */
export function pendingOf<T> (value: T | Promise<T>): Promise<T> | null {
  return isPromise(value) ? value : null
}

function isPromise<T> (value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise
}
