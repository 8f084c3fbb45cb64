/** The value of a key from user input: `constructor` and `toString` can be names of fields, and objects inherit them. */
export const ownValue = <Value>(record: Record<string, Value> | null | undefined, key: string): Value | undefined =>
  record && Object.hasOwn(record, key) ? record[key] : undefined
