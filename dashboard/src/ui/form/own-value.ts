/** The value of a key that a person chose: `constructor` and `toString` are names of fields too, and objects inherit them. */
export const ownValue = <Value>(record: Record<string, Value> | null | undefined, key: string): Value | undefined =>
  record && Object.hasOwn(record, key) ? record[key] : undefined
