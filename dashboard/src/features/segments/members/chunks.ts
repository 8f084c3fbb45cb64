/** Addresses that one request takes. */
const MAX_ADDRESSES = 10_000

export const inChunks = (addresses: string[], size = MAX_ADDRESSES): string[][] =>
  Array.from({ length: Math.ceil(addresses.length / size) }, (_, index) => addresses.slice(index * size, (index + 1) * size))
