// How many messages were accepted per second, by the times of the messages themselves. So the rate is right even if the
// events come late and all at once.

export class MessageRate {
  #second = 0;
  #count = 0;
  #before = 0;

  note(createdAt: number): void {
    const second = Math.floor(createdAt / 1000);
    if (second < this.#second) return;
    if (second > this.#second) {
      this.#before = second === this.#second + 1 ? this.#count : 0;
      this.#second = second;
      this.#count = 0;
    }
    this.#count += 1;
  }

  /** The rate of the last whole second, or that of the current second if it is already higher. */
  get perSecond(): number {
    return Math.max(this.#before, this.#count);
  }
}
