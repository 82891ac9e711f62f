/** A ring buffer of the newest items. When it is full, a new item replaces the oldest. */
export class Ring<T> {
  private readonly size: number
  private readonly items: T[] = []
  /** Index of the next item once the ring is full. */
  private next = 0

  /** @param size at least 1 */
  constructor (size: number) {
    this.size = size
  }

  push (item: T): void {
    if (this.items.length < this.size) {
      this.items.push(item)
      return
    }
    this.items[this.next] = item
    this.next = (this.next + 1) % this.size
  }

  /** Newest first. */
  * newest (): Generator<T> {
    for (let i = 1; i <= this.items.length; i++) yield this.items[(this.next + this.items.length - i) % this.items.length] as T
  }

  clear (): void {
    this.items.length = 0
    this.next = 0
  }
}
