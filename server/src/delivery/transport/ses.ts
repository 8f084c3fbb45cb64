import type { SendEmailCommandInput } from '@aws-sdk/client-sesv2'
import type { SesConfig } from '../../lib/config.ts'
import { crash } from '../../lib/crash-point.ts'
import { createSesClient, isUnreached, refusalIn } from '../../lib/ses-client.ts'
import { SECOND } from '../../lib/text/units.ts'
import { classifySesRefusal, type SesRefusal } from './classify-ses.ts'
import { fitToServer } from './fit-server.ts'
import type { OutgoingMessage, Permit, ProviderQuota, SendOutcome, Transport } from './transport.ts'

/** The reply timeout is long: giving up earlier means sending twice. */
const TIMEOUTS = { connectMs: 10 * SECOND, replyMs: 600 * SECOND }
/** Short timeout: no email depends on the quota request. */
const QUOTA_TIMEOUT_MS = 10 * SECOND

/** Amazon SES sends the message as built, signs it with its own keys, and reports later under our ids. */
export function createSesTransport(config: SesConfig, timeouts = TIMEOUTS): Transport {
  const ses = createSesClient(config, timeouts)

  async function send(outgoing: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SendOutcome> {
    const { sdk, client } = await ses.ready()
    // Amazon SES takes ASCII only.
    const unfit = outgoing.form && (await fitToServer(outgoing, { eightBit: false, utf8: false }))
    if (unfit) return unfit
    const command = new sdk.SendEmailCommand(requestFor(outgoing, config))
    let handedOver = false
    let withheld = false
    // The innermost step: everything that may fail before the first byte, such as loading credentials, is done.
    command.middlewareStack.add(
      (next) => async (args) => {
        if (handedOver) throw new Error('an email is handed over only once')
        handedOver = true
        withheld = true
        const permit = await handOver()
        if (!permit?.()) throw new Withheld()
        withheld = false
        crash('body-sent')
        return next(args)
      },
      { step: 'deserialize', priority: 'low', name: 'handOver' },
    )
    try {
      const { MessageId } = await client.send(command)
      crash('accepted')
      return { is: 'accepted', response: `accepted as ${MessageId}`, ...(MessageId ? { providerId: MessageId } : {}) }
    } catch (err) {
      return withheld ? { is: 'withheld' } : explain(err, outgoing.from, handedOver)
    }
  }

  return {
    send: (outgoing, handOver) => send(outgoing, handOver).catch((err) => ({ is: 'not-sent', at: 'session', error: describe(err) })),
    async quota() {
      const { sdk, client } = await ses.ready()
      return readQuota(await client.send(new sdk.GetAccountCommand({}), { abortSignal: AbortSignal.timeout(QUOTA_TIMEOUT_MS) }))
    },
    close: ses.close,
  }
}

class Withheld extends Error {}

/** SES notifications identify the email by these tags. Account emails have none, because they have no timeline. */
const requestFor = (
  { projectId, id, from, recipient, message }: OutgoingMessage,
  { configurationSet }: SesConfig,
): SendEmailCommandInput => ({
  FromEmailAddress: from,
  Destination: { ToAddresses: [recipient] },
  Content: { Raw: { Data: message } },
  ...(configurationSet ? { ConfigurationSetName: configurationSet } : {}),
  ...(projectId
    ? {
        EmailTags: [
          { Name: 'projectId', Value: projectId },
          { Name: 'emailId', Value: id },
        ],
      }
    : {}),
})

/** From this status on the outcome is unknown: a gateway got no reply, or Amazon failed, which may be after it had accepted the email. */
const FAILED_SERVER = 500

function explain(err: unknown, sender: string, handedOver: boolean): SendOutcome {
  const refusal = refusalIn(err)
  if (refusal && refusal.status < FAILED_SERVER) {
    const response = describeReply(refusal)
    return { is: 'refused', at: 'message', code: refusal.status, response, disposition: classifySesRefusal(refusal, sender) }
  }
  if (!handedOver || isUnreached(err)) return { is: 'not-sent', at: 'session', error: describe(err) }
  return { is: 'unknown', error: refusal ? describeReply(refusal) : describe(err), aboutProvider: true }
}

const describeReply = ({ status, name, message }: SesRefusal) => `${status} ${name}: ${message}`.slice(0, 1_000)
const describe = (err: unknown) => `${(err as Error).name}: ${(err as Error).message}`.slice(0, 500)

type Account = { SendQuota?: { Max24HourSend?: number; MaxSendRate?: number; SentLast24Hours?: number }; SendingEnabled?: boolean }

function readQuota({ SendQuota = {}, SendingEnabled }: Account): ProviderQuota {
  const { Max24HourSend = -1, MaxSendRate = 0, SentLast24Hours = 0 } = SendQuota
  const perSecond = MaxSendRate > 0 ? MaxSendRate : Number.POSITIVE_INFINITY
  if (SendingEnabled === false) return { perSecond, stopped: 'Amazon SES has paused sending for this account.', isUsedUp: false }
  const isUsedUp = Max24HourSend > 0 && SentLast24Hours >= Max24HourSend
  return { perSecond, stopped: isUsedUp ? `The quota of ${Max24HourSend} emails in 24 hours is used up.` : null, isUsedUp }
}
