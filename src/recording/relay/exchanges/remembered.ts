/** Values by their keys, of which those that were needed last are kept. */
export class Remembered<Value> {
  readonly #values = new Map<string, { readonly value: Value; readonly weight: number }>();
  readonly #most: number;
  #weight = 0;

  /** @param most how much all of them may weigh together; one that weighs more by itself is not kept */
  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const known = this.#values.get(key);
    if (known === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, known);
    return known.value;
  }

  set(key: string, { value, weight }: { readonly value: Value; readonly weight: number }): void {
    this.#forget(key);
    if (weight > this.#most) return;
    this.#values.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#values.keys()) {
      if (this.#weight <= this.#most) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#weight -= this.#values.get(key)?.weight ?? 0;
    this.#values.delete(key);
  }
}
