import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Tag = { Name: string; Value: string }
type SentMessage = {
  id: string
  at: number
  from: string
  to: string[]
  source: string
  tags: Record<string, string>
  set: string | undefined
}
type Identity = { Tags: { Key: string; Value: string }[]; Tokens: string[]; Status: string; Verified: boolean }
type Refusal = [status: number, name: string, message: string]

/** Longer than a connection may be idle. */
const SLOW_MS = 6_500

/** Replies by the local part of the recipient's address. */
const REFUSALS: Record<string, Refusal> = {
  throttle: [429, 'TooManyRequestsException', 'Maximum sending rate exceeded.'],
  throttling: [400, 'ThrottlingException', 'Rate exceeded'],
  quota: [400, 'LimitExceededException', 'Daily message quota exceeded.'],
  quota2: [400, 'ThrottlingException', 'Daily message quota exceeded.'],
  suspended: [400, 'AccountSuspendedException', 'Your account is suspended.'],
  paused: [400, 'SendingPausedException', 'Sending is paused for this account.'],
  denied: [403, 'AccessDeniedException', 'User is not authorized to perform: ses:SendEmail'],
  signature: [403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match.'],
  domain: [
    400,
    'MessageRejected',
    'Email address is not verified. The following identities failed the check in region EU-CENTRAL-1: News@shop.example, shop.example',
  ],
  'mail-from': [400, 'MailFromDomainNotVerifiedException', 'The MAIL FROM domain is not verified.'],
  sandboxed: [
    400,
    'MessageRejected',
    'Email address is not verified. The following identities failed the check in region EU-CENTRAL-1: sandboxed@example.com',
  ],
  rejected: [400, 'MessageRejected', 'Message length is more than 41943040 bytes long.'],
  bad: [400, 'BadRequestException', 'Illegal address'],
  s500: [500, 'InternalFailure', 'Try again'],
  s503: [503, 'ServiceUnavailable', 'Try again'],
  s502: [502, 'BadGateway', 'No answer'],
  s504: [504, 'GatewayTimeout', 'No answer in time'],
}

/** The part of the Amazon SES v2 API that we use. */
export async function startSesServer() {
  const messages: SentMessage[] = []
  const requests: string[] = []
  /** Recipients of messages in the order in which they came, accepted or not. */
  const attempts: string[] = []
  const identities = new Map<string, Identity>()
  const account = { SendQuota: { Max24HourSend: 50_000, MaxSendRate: 1_000, SentLast24Hours: 0 }, SendingEnabled: true }
  /** Reply to every request about identities, and to every message, while it is set. */
  const outage: { refusal?: Refusal | 'hang' | undefined; message?: Refusal | undefined } = {}
  /** DKIM tokens of the next identity; random by default. */
  const state: { tokens?: string[] | undefined } = {}

  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const path = new URL(req.url!, 'http://ses').pathname
    requests.push(`${req.method} ${path}`)
    if (!/^AWS4-HMAC-SHA256 Credential=AKIDTEST\/\d{8}\/eu-central-1\/ses\//.test(req.headers.authorization ?? ''))
      return refuse(res, [403, 'UnrecognizedClientException', 'The security token is invalid.'])
    const body = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : {}
    if (path === '/v2/email/outbound-emails') return acceptMessage(req, res, body)
    if (path === '/v2/email/account') return answer(res, account)
    if (outage.refusal === 'hang') return undefined
    if (outage.refusal) return refuse(res, outage.refusal)
    return answerIdentity(req.method!, decodeURIComponent(path.slice('/v2/email/identities/'.length)), body, res)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  // biome-ignore lint/suspicious/noExplicitAny: the client is under test, not this server
  function acceptMessage(req: IncomingMessage, res: ServerResponse, body: any) {
    const to: string[] = body.Destination.ToAddresses
    const behaviour = to[0]!.split('@')[0]!
    attempts.push(to[0]!)
    if (outage.message) return refuse(res, outage.message)
    if (REFUSALS[behaviour]) return refuse(res, REFUSALS[behaviour])
    const id = `ses-${randomUUID()}`
    const tags = Object.fromEntries((body.EmailTags ?? []).map(({ Name, Value }: Tag) => [Name, Value]))
    const source = Buffer.from(body.Content.Raw.Data, 'base64').toString()
    messages.push({ id, at: performance.now(), from: body.FromEmailAddress, to, source, tags, set: body.ConfigurationSetName })
    if (behaviour === 'broken') return refuse(res, REFUSALS.s500!)
    if (behaviour === 'hang') return undefined
    if (behaviour === 'slow') return setTimeout(() => answer(res, { MessageId: id }), SLOW_MS)
    if (behaviour === 'reset') return req.socket.destroy()
    if (behaviour === 'garbage') return res.writeHead(200, { 'content-type': 'application/json' }).end('{"MessageId": ')
    return answer(res, { MessageId: id })
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  function answerIdentity(method: string, name: string, body: any, res: ServerResponse) {
    if (method === 'POST') {
      if (identities.has(body.EmailIdentity)) return refuse(res, [400, 'AlreadyExistsException', 'It exists.'])
      const Tokens = state.tokens ?? [1, 2, 3].map(() => randomUUID().replaceAll('-', ''))
      identities.set(body.EmailIdentity, { Tags: body.Tags ?? [], Tokens, Status: 'PENDING', Verified: false })
      return answer(res, {})
    }
    const found = identities.get(name)
    if (!found) return refuse(res, [404, 'NotFoundException', 'No such identity.'])
    if (method === 'DELETE') {
      identities.delete(name)
      return answer(res, {})
    }
    const { Tags, Tokens, Status, Verified } = found
    const DkimAttributes = { Tokens, Status, SigningEnabled: true, SigningHostedZone: 'dkim.amazonses.com' }
    return answer(res, { IdentityType: 'DOMAIN', VerifiedForSendingStatus: Verified, DkimAttributes, Tags })
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    requests,
    attempts,
    identities,
    account,
    outage,
    state,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const answer = (res: ServerResponse, body: object) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const refuse = (res: ServerResponse, [status, name, message]: Refusal) =>
  res.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': name }).end(JSON.stringify({ message }))
