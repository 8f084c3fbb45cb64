import type { SendEmailCommandInput } from '@aws-sdk/client-sesv2'
import type { SesConfig } from '../../lib/config.ts'
import { crash } from '../../lib/crash-point.ts'
import { createSesClient, isUnreached, refusalIn } from '../../lib/ses-client.ts'
import { SECOND } from '../../lib/units.ts'
import { classifySesRefusal } from './classify-ses.ts'
import type { OutgoingMessage, Permit, ProviderQuota, SendOutcome, Transport } from './transport.ts'

/** The last is long: whoever gives up earlier sends twice. */
const PATIENCE = { connectMs: 10 * SECOND, replyMs: 600 * SECOND }
/** Of a question about the account nothing hangs. */
const ALLOWANCE_MS = 10 * SECOND

/** Amazon SES takes the mail as we made it, signs it with keys of its own, and tells later what became of it, under our ids. */
export function createSesTransport(config: SesConfig, patience = PATIENCE): Transport {
  const ses = createSesClient(config, patience)

  async function send(mail: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SendOutcome> {
    const { sdk, client } = await ses.ready()
    const command = new sdk.SendEmailCommand(requestFor(mail, config))
    let asked = false
    let withheld = false
    // The innermost step: everything that may fail before a byte leaves, such as finding credentials, has been done.
    command.middlewareStack.add(
      (next) => async (args) => {
        if (asked) throw new Error('a mail is handed over once')
        asked = true
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
      return withheld ? { is: 'withheld' } : explain(err, mail.sender, asked)
    }
  }

  return {
    send: (mail, handOver) => send(mail, handOver).catch((err) => ({ is: 'not-sent', at: 'session', error: describe(err) })),
    async quota() {
      const { sdk, client } = await ses.ready()
      return readQuota(await client.send(new sdk.GetAccountCommand({}), { abortSignal: AbortSignal.timeout(ALLOWANCE_MS) }))
    },
    close: ses.close,
  }
}

class Withheld extends Error {}

/** Tags are what its notifications name the mail by. Mails to account holders have none: nobody keeps their story. */
const requestFor = (
  { projectId, id, sender, recipient, message }: OutgoingMessage,
  { configurationSet }: SesConfig,
): SendEmailCommandInput => ({
  FromEmailAddress: sender,
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

/** Nobody on the way that had no answer either knows what became of it: those are the two statuses of a gateway. */
const NO_ANSWER = [502, 504]

function explain(err: unknown, sender: string, handedOver: boolean): SendOutcome {
  const refusal = refusalIn(err)
  if (refusal && !NO_ANSWER.includes(refusal.status)) {
    const response = `${refusal.status} ${refusal.name}: ${refusal.message}`.slice(0, 1_000)
    return { is: 'refused', at: 'message', code: refusal.status, response, disposition: classifySesRefusal(refusal, sender) }
  }
  if (!handedOver || isUnreached(err)) return { is: 'not-sent', at: 'session', error: describe(err) }
  return { is: 'unknown', error: describe(err) }
}

const describe = (err: unknown) => `${(err as Error).name}: ${(err as Error).message}`.slice(0, 500)

type Account = { SendQuota?: { Max24HourSend?: number; MaxSendRate?: number; SentLast24Hours?: number }; SendingEnabled?: boolean }

function readQuota({ SendQuota = {}, SendingEnabled }: Account): ProviderQuota {
  const { Max24HourSend = -1, MaxSendRate = 0, SentLast24Hours = 0 } = SendQuota
  const perSecond = MaxSendRate > 0 ? MaxSendRate : Number.POSITIVE_INFINITY
  if (SendingEnabled === false) return { perSecond, stopped: 'Amazon SES has paused sending for this account.' }
  const isUsedUp = Max24HourSend > 0 && SentLast24Hours >= Max24HourSend
  return { perSecond, stopped: isUsedUp ? `The quota of ${Max24HourSend} mails in 24 hours is used up.` : null }
}
