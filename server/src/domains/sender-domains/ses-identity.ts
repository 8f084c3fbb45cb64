import type { GetEmailIdentityResponse } from '@aws-sdk/client-sesv2'
import type { SesConfig } from '../../lib/config.ts'
import { fail } from '../../lib/errors/errors.ts'
import { createSesClient, refusalIn } from '../../lib/ses-client.ts'

type IdentityOwner = { projectId: string; domain: string }
/** State of a domain at Amazon SES: the tokens to publish, the zone their values are in, and whether it has found them. */
export type Identity = { tokens: string[]; zone: string; state: 'verified' | 'pending' | 'given-up' | 'unknown' }

export type Identities = ReturnType<typeof createIdentities>

const TIMEOUTS = { connectMs: 3_000, replyMs: 8_000 }
/** Names the project that the identity was created for. An identity without it belongs to the operator and must not be used by a tenant. */
const TAG = 'sterna-project'
const DEFAULT_ZONE = 'dkim.amazonses.com'

/** The identity was created by hand or by another program. */
export class ForeignIdentity extends Error {}

/** Domain identities of the Amazon SES account. */
export function createIdentities(config: SesConfig) {
  const ses = createSesClient(config, TIMEOUTS)

  async function find(domain: string) {
    const { sdk, client } = await ses.ready()
    return client.send(new sdk.GetEmailIdentityCommand({ EmailIdentity: domain })).catch(unless('NotFoundException'))
  }

  async function create({ projectId, domain }: IdentityOwner) {
    const { sdk, client } = await ses.ready()
    const Tags = [{ Key: TAG, Value: projectId }]
    // A concurrent request may have created it first.
    await client.send(new sdk.CreateEmailIdentityCommand({ EmailIdentity: domain, Tags })).catch(unless('AlreadyExistsException'))
  }

  async function remove(domain: string) {
    const { sdk, client } = await ses.ready()
    const found = await find(domain)
    if (!found || !ownerOf(found)) return
    await client.send(new sdk.DeleteEmailIdentityCommand({ EmailIdentity: domain })).catch(unless('NotFoundException'))
  }

  /** Creates the identity if it does not exist. One left over from a project that no longer has the domain is replaced, with new tokens. */
  async function ensure(owner: IdentityOwner): Promise<Identity> {
    let found = await find(owner.domain)
    if (found && !ownerOf(found)) throw new ForeignIdentity(explainForeign(owner))
    if (found && ownerOf(found) !== owner.projectId) {
      await remove(owner.domain)
      found = undefined
    }
    if (!found) {
      await create(owner)
      found = await find(owner.domain)
    }
    if (!found || ownerOf(found) !== owner.projectId) throw new Error('the identity changed during the request')
    return readIdentity(found)
  }

  return { ensure, remove }
}

const explainForeign = ({ projectId, domain }: IdentityOwner) =>
  `${domain} is already an identity of the Amazon SES account. The operator can assign it to this project with the tag ${TAG}=${projectId}.`

const ownerOf = ({ Tags = [] }: GetEmailIdentityResponse) => Tags.find(({ Key }) => Key === TAG)?.Value

function readIdentity({ DkimAttributes = {}, VerifiedForSendingStatus }: GetEmailIdentityResponse): Identity {
  const { Tokens = [], SigningHostedZone, Status } = DkimAttributes
  const isVerified = VerifiedForSendingStatus === true && Status === 'SUCCESS'
  return { tokens: Tokens, zone: SigningHostedZone ?? DEFAULT_ZONE, state: isVerified ? 'verified' : (STATES[Status ?? ''] ?? 'pending') }
}

const STATES: Record<string, Identity['state']> = { TEMPORARY_FAILURE: 'unknown', FAILED: 'given-up' }

const unless =
  (name: string) =>
  (err: unknown): undefined => {
    if (refusalIn(err)?.name !== name) throw err
  }

/** A failure between this installation and Amazon SES is not the fault of the caller's request. */
export function explainToCaller(err: unknown): never {
  if (err instanceof ForeignIdentity) return fail('FORBIDDEN', { message: err.message })
  const refusal = refusalIn(err)
  return fail('SERVICE_UNAVAILABLE', {
    message: refusal ? `Amazon SES refused: ${refusal.name}. Try again later.` : 'Amazon SES did not reply. Try again later.',
    retryAfter: 30,
    cause: err,
  })
}
