export const times = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index))
