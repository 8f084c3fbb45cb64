import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Source } from '../contacts/record/subscription.ts'
import { transact } from '../db/index.ts'
import { ANYONE } from '../http/auth/declaration.ts'
import { readError, replyWithError } from '../http/core/errors.ts'
import type { App, Deps } from '../http/core/types.ts'
import { createWindowCounter } from '../lib/concurrency/window-counter.ts'
import { fail, invalid } from '../lib/errors/errors.ts'
import { networkOf } from '../lib/network/network.ts'
import { MINUTE } from '../lib/text/units.ts'
import { FORM_LIMIT, type Form, readForms } from './form.ts'
import { type LinkOwner, type Purpose, preferencePath, readPreferenceToken } from './link.ts'
import { failurePage, PAGE_HEADERS, preferencesPage, subscriptionPage } from './page.ts'
import { changeSubscription, findSubscriber, type Subscriber } from './subscriber.ts'
import { languageFor, languageOfBrowser } from './texts.ts'

/** Invalid links per minute and network. */
const MAX_INVALID = 100
/** Uses of one link per minute and network. Not of all links: a whole mailbox provider unsubscribes from a few addresses. */
const MAX_USES = 60

const options = { config: ANYONE, schema: { hide: true, params: z.object({ token: z.string() }) } }
type LinkRequest = Pick<FastifyRequest, 'id' | 'ip' | 'body'> & { params: { token: string } }

/** In a scope of their own, the only one that accepts bodies of any content type. */
export const preferenceRoutes = (app: App, deps: Deps) => app.register(async (scope) => addPages(scope, deps))

/** The pages behind the links in emails. They work without scripts, and GET changes nothing, because scanners follow links. */
function addPages(scope: App, { db, secrets }: Deps) {
  readForms(scope)
  scope.setErrorHandler(replyWithPage)
  const invalidLinks = createWindowCounter({ limit: MAX_INVALID, windowMs: MINUTE })
  const uses = createWindowCounter({ limit: MAX_USES, windowMs: MINUTE })

  function identify({ ip, params: { token } }: LinkRequest, purpose: Purpose): LinkOwner {
    const owner = readPreferenceToken(secrets, purpose, token)
    const [counter, key] = owner ? [uses, `${networkOf(ip)} ${owner.contactId}`] : [invalidLinks, networkOf(ip)]
    if (counter.count(key)) fail('RATE_LIMIT_EXCEEDED', { retryAfter: counter.retryAfter(key) })
    return owner ?? noSuchLink()
  }

  async function find(reply: FastifyReply, owner: LinkOwner): Promise<Subscriber> {
    const found = await findSubscriber(db, owner)
    if (found) reply.header('content-language', found.language)
    return found?.subscriber ?? noSuchLink()
  }

  async function change(req: LinkRequest, reply: FastifyReply, owner: LinkOwner, subscribed: boolean, by: Source['by']) {
    await find(reply, owner)
    const { emailId } = owner
    const details = { requestId: req.id, ...(emailId ? { emailId } : {}) }
    await transact(db, (tx) => changeSubscription(tx, owner, subscribed, { by, details }))
    return find(reply, owner)
  }

  function render(purpose: Purpose, owner: LinkOwner, subscriber: Subscriber, saved: boolean) {
    if (purpose === 'manage') return preferencesPage(subscriber, { saved })
    const opposite = purpose === 'subscribe' ? 'unsubscribe' : 'subscribe'
    return subscriptionPage(subscriber, purpose === 'subscribe', `..${preferencePath(secrets, opposite, owner)}`)
  }

  for (const purpose of ['unsubscribe', 'subscribe', 'manage'] as const) {
    scope.route({
      method: ['GET', 'HEAD'],
      url: `/${purpose}/:token`,
      ...options,
      handler: async (req, reply) => {
        const owner = identify(req, purpose)
        return reply.headers(PAGE_HEADERS).send(render(purpose, owner, await find(reply, owner), false))
      },
    })

    scope.post(`/${purpose}/:token`, { ...options, bodyLimit: FORM_LIMIT }, async (req, reply) => {
      const owner = identify(req, purpose)
      const wanted = purpose === 'manage' ? readChoice(req) : purpose === 'subscribe'
      const subscriber = await change(req, reply, owner, wanted, purpose === 'unsubscribe' ? sourceOf(req) : 'page')
      return reply.headers(PAGE_HEADERS).send(render(purpose, owner, subscriber, true))
    })
  }
}

/** The token is not echoed. */
const noSuchLink = (): never => fail('RESOURCE_NOT_FOUND', { message: 'No such link.', details: { resource: 'link' } })

const formOf = ({ body }: LinkRequest) => (body ?? {}) as Form

/** Email clients send this field with their own unsubscribe button (RFC 8058). */
const sourceOf = (req: LinkRequest): Source['by'] => (formOf(req)['List-Unsubscribe'] === 'One-Click' ? 'one-click' : 'page')

function readChoice(req: LinkRequest) {
  const { subscribed } = formOf(req)
  if (subscribed === undefined) invalid('subscribed', 'Required.', 'required')
  if (String(subscribed) !== 'true' && String(subscribed) !== 'false') invalid('subscribed', 'Must be true or false.', 'invalid_type')
  return String(subscribed) === 'true'
}

/** An HTML page for browsers, in the language of the contact or else of the browser; the error envelope for other clients. */
function replyWithPage(err: unknown, req: FastifyRequest, reply: FastifyReply) {
  const language = languageFor(reply.getHeader('content-language'), languageOfBrowser(req.headers['accept-language']))
  reply.removeHeader('content-language')
  if (!req.headers.accept?.includes('text/html')) return replyWithError(err, req, reply)
  const { statusCode } = readError(err, req, reply)
  return reply.status(statusCode).headers(PAGE_HEADERS).send(failurePage(language, statusCode))
}
