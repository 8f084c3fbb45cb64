import { hash, verify } from '@node-rs/argon2'
import { z } from 'zod'

/** argon2id at OWASP's first recommendation: 19 MiB, two passes. */
const PASSWORD_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const NewPassword = z.string().min(8, 'Use at least 8 characters.').max(256, 'Use at most 256 characters.')
/** A password to be checked: any text, so that a wrong one is refused as wrong, not as invalid. */
export const GivenPassword = z.string().max(256)

export type Passwords = ReturnType<typeof createPasswords>

export function createPasswords(cost = PASSWORD_COST) {
  const hashPassword = (password: string) => hash(password, cost)
  /** Compared for unknown addresses, so that the response time does not reveal whether an account exists. */
  const unknownUserHash = hashPassword('unknown user')
  return {
    hashPassword,
    async isPassword(stored: string | undefined, password: string) {
      const matches = await verify(stored ?? (await unknownUserHash), password)
      return matches && stored !== undefined
    },
  }
}
