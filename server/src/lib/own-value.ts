/** The value of a key that a customer chose. Own properties only: `constructor` and `toString` are names of fields too. */
export const ownValue = (object: unknown, key: string): unknown =>
  object !== null && object !== undefined && Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined
