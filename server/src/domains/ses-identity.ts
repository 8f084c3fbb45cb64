import type { GetEmailIdentityResponse } from '@aws-sdk/client-sesv2'
import type { SesConfig } from '../lib/config.ts'
import { fail } from '../lib/errors.ts'
import { createSesClient, refusalIn } from '../lib/ses-client.ts'

type IdentityOwner = { projectId: string; domain: string }
/** What Amazon SES says of a domain: the names to publish, in which zone their values are, and whether it has found them. */
export type Identity = { tokens: string[]; zone: string; state: 'verified' | 'pending' | 'given-up' | 'unknown' }

export type Identities = ReturnType<typeof createIdentities>

const PATIENCE = { connectMs: 3_000, replyMs: 8_000 }
/** Names the project it was made for. One without it is the operator's own, and no tenant's to use. */
const TAG = 'sterna-project'
const OLD_ZONE = 'dkim.amazonses.com'

/** Somebody made this identity by hand, or another program did. */
export class ForeignIdentity extends Error {}

/** The domains of an account at Amazon SES. */
export function createIdentities(config: SesConfig) {
  const ses = createSesClient(config, PATIENCE)

  async function find(domain: string) {
    const { sdk, client } = await ses.ready()
    return client.send(new sdk.GetEmailIdentityCommand({ EmailIdentity: domain })).catch(unless('NotFoundException'))
  }

  async function create({ projectId, domain }: IdentityOwner) {
    const { sdk, client } = await ses.ready()
    const Tags = [{ Key: TAG, Value: projectId }]
    // Two at once: the other one has made it.
    await client.send(new sdk.CreateEmailIdentityCommand({ EmailIdentity: domain, Tags })).catch(unless('AlreadyExistsException'))
  }

  async function remove(domain: string) {
    const { sdk, client } = await ses.ready()
    const found = await find(domain)
    if (!found || !holderOf(found)) return
    await client.send(new sdk.DeleteEmailIdentityCommand({ EmailIdentity: domain })).catch(unless('NotFoundException'))
  }

  /** Made if it is not there. Left over from another project, which no longer has the domain, it is made anew, with other names. */
  async function ensure(holder: IdentityOwner): Promise<Identity> {
    let found = await find(holder.domain)
    if (found && !holderOf(found)) throw new ForeignIdentity(explainForeign(holder))
    if (found && holderOf(found) !== holder.projectId) {
      await remove(holder.domain)
      found = undefined
    }
    if (!found) {
      await create(holder)
      found = await find(holder.domain)
    }
    if (!found || holderOf(found) !== holder.projectId) throw new Error('the identity changed meanwhile')
    return readIdentity(found)
  }

  return { ensure, remove }
}

const explainForeign = ({ projectId, domain }: IdentityOwner) =>
  `${domain} is an identity of the Amazon SES account already. Whoever runs this installation can give it to this project by the tag ${TAG}=${projectId}.`

const holderOf = ({ Tags = [] }: GetEmailIdentityResponse) => Tags.find(({ Key }) => Key === TAG)?.Value

function readIdentity({ DkimAttributes = {}, VerifiedForSendingStatus }: GetEmailIdentityResponse): Identity {
  const { Tokens = [], SigningHostedZone, Status } = DkimAttributes
  const isVerified = VerifiedForSendingStatus === true && Status === 'SUCCESS'
  return { tokens: Tokens, zone: SigningHostedZone ?? OLD_ZONE, state: isVerified ? 'verified' : (STATES[Status ?? ''] ?? 'pending') }
}

const STATES: Record<string, Identity['state']> = { TEMPORARY_FAILURE: 'unknown', FAILED: 'given-up' }

const unless =
  (name: string) =>
  (err: unknown): undefined => {
    if (refusalIn(err)?.name !== name) throw err
  }

/** For people who wait: whatever is wrong between us and Amazon is not their request. */
export function explainToCaller(err: unknown): never {
  if (err instanceof ForeignIdentity) return fail('FORBIDDEN', { message: err.message })
  const refusal = refusalIn(err)
  return fail('SERVICE_UNAVAILABLE', {
    message: refusal ? `Amazon SES refused: ${refusal.name}. Try again later.` : 'Amazon SES did not answer. Try again later.',
    retryAfter: 30,
    cause: err,
  })
}
