/** Addresses in pasted text, such as `Ada <ada@example.com>, grace@example.com`. The server validates them. */
export function readAddresses(text: string): string[] {
  const found = text.match(/[^\s,;<>"'()]+@[^\s,;<>"'()]+/g) ?? []
  return [...new Map(found.map((address) => [address.toLowerCase(), address])).values()]
}

export const addressesToCsv = (addresses: string[]): string => ['email', ...addresses].join('\n')
