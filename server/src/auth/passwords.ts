import { hash, verify } from '@node-rs/argon2'
import { z } from 'zod'

/** argon2id at OWASP's first recommendation: 19 MiB, two passes. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const NewPassword = z.string().min(8, 'Use at least 8 characters.').max(256, 'Use at most 256 characters.')
/** What someone claims their password is: any text, so that a wrong one is wrong and not invalid. */
export const GivenPassword = z.string().max(256)

export const hashPassword = (password: string) => hash(password, COST)

/** For an address nobody has, so that guessing one takes as long as guessing a password. */
const nobody = hashPassword('nobody')

export async function isPassword(stored: string | undefined, password: string) {
  const matches = await verify(stored ?? (await nobody), password)
  return matches && stored !== undefined
}
