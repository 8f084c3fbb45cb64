import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Source } from '../contacts/subscription.ts'
import { transact } from '../db/index.ts'
import { readError, replyWithError } from '../http/errors.ts'
import type { App, Deps } from '../http/server.ts'
import { fail, invalid } from '../lib/errors.ts'
import { networkOf } from '../lib/network.ts'
import { MINUTE } from '../lib/units.ts'
import { createWindowCounter } from '../lib/window-counter.ts'
import { FORM_LIMIT, type Form, readForms } from './form.ts'
import { type LinkOwner, type Purpose, preferencePath, readPreferenceToken } from './link.ts'
import { failurePage, notFoundPage, PAGE_HEADERS, preferencesPage, subscriptionPage } from './page.ts'
import { changeSubscription, findSubscriber, type Subscriber } from './subscriber.ts'
import { languageFor, languageOfBrowser } from './texts.ts'

/** Wrong links a network may try per minute. */
const MAX_WRONG = 100
/** Uses of one link per minute and network. Not of all links: the mail programs of a whole provider unsubscribe from a few addresses. */
const MAX_USES = 60

const config = { caller: 'anyone' as const }
const options = { config, schema: { hide: true, params: z.object({ token: z.string() }) } }
type Opened = Pick<FastifyRequest, 'id' | 'ip' | 'body'> & { params: { token: string } }

/** In a scope of their own: bodies of any kind are read there and nowhere else. */
export const preferenceRoutes = (app: App, deps: Deps) => app.register(async (scope) => addPages(scope, deps))

/** The pages behind the links of a mail. They work without a script; whoever only looks, person or machine, changes nothing. */
function addPages(scope: App, { db, secrets }: Deps) {
  readForms(scope)
  scope.setErrorHandler(replyWithPage)
  const wrong = createWindowCounter({ limit: MAX_WRONG, windowMs: MINUTE })
  const uses = createWindowCounter({ limit: MAX_USES, windowMs: MINUTE })

  function identify({ ip, params: { token } }: Opened, purpose: Purpose): LinkOwner {
    const holder = readPreferenceToken(secrets, purpose, token)
    const [tally, key] = holder ? [uses, `${networkOf(ip)} ${holder.contactId}`] : [wrong, networkOf(ip)]
    if (tally.count(key)) fail('RATE_LIMIT_EXCEEDED', { retryAfter: tally.retryAfter(key) })
    return holder ?? noSuchLink()
  }

  async function find(reply: FastifyReply, holder: LinkOwner): Promise<Subscriber> {
    const found = await findSubscriber(db, holder)
    if (found) reply.header('content-language', found.language)
    return found?.subscriber ?? noSuchLink()
  }

  async function change(req: Opened, reply: FastifyReply, holder: LinkOwner, subscribed: boolean, by: Source['by']) {
    await find(reply, holder)
    await transact(db, (tx) => changeSubscription(tx, holder, subscribed, { by, details: { requestId: req.id } }))
    return find(reply, holder)
  }

  for (const purpose of ['unsubscribe', 'subscribe'] as const) {
    const wanted = purpose === 'subscribe'
    const print = (person: Subscriber, holder: LinkOwner) =>
      subscriptionPage(person, wanted, `..${preferencePath(secrets, wanted ? 'unsubscribe' : 'subscribe', holder)}`)

    scope.route({
      method: ['GET', 'HEAD'],
      url: `/${purpose}/:token`,
      ...options,
      handler: async (req, reply) => {
        const holder = identify(req, purpose)
        return reply.headers(PAGE_HEADERS).send(print(await find(reply, holder), holder))
      },
    })

    scope.post(`/${purpose}/:token`, { ...options, bodyLimit: FORM_LIMIT }, async (req, reply) => {
      const holder = identify(req, purpose)
      const person = await change(req, reply, holder, wanted, wanted ? 'page' : sourceOf(req))
      return reply.headers(PAGE_HEADERS).send(print(person, holder))
    })
  }

  scope.route({
    method: ['GET', 'HEAD'],
    url: '/manage/:token',
    ...options,
    handler: async (req, reply) =>
      reply.headers(PAGE_HEADERS).send(preferencesPage(await find(reply, identify(req, 'manage')), { saved: false })),
  })

  scope.post('/manage/:token', { ...options, bodyLimit: FORM_LIMIT }, async (req, reply) => {
    const holder = identify(req, 'manage')
    const person = await change(req, reply, holder, readChoice(req), 'page')
    return reply.headers(PAGE_HEADERS).send(preferencesPage(person, { saved: true }))
  })
}

/** Without the link: nothing that was sent is said back. */
const noSuchLink = (): never => fail('RESOURCE_NOT_FOUND', { message: 'No such link.', details: { resource: 'link' } })

const formOf = ({ body }: Opened) => (body ?? {}) as Form

/** Mail programs say that it was theirs (RFC 8058). */
const sourceOf = (req: Opened): Source['by'] => (formOf(req)['List-Unsubscribe'] === 'One-Click' ? 'one-click' : 'page')

function readChoice(req: Opened) {
  const { subscribed } = formOf(req)
  if (subscribed === undefined) invalid('subscribed', 'Required.', 'required')
  if (String(subscribed) !== 'true' && String(subscribed) !== 'false') invalid('subscribed', 'Must be true or false.', 'invalid_type')
  return String(subscribed) === 'true'
}

/** A page for people, in the language of whose link it was, or else of their browser; the envelope for everyone else. */
function replyWithPage(err: unknown, req: FastifyRequest, reply: FastifyReply) {
  const language = languageFor(reply.getHeader('content-language'), languageOfBrowser(req.headers['accept-language']))
  reply.removeHeader('content-language')
  if (!req.headers.accept?.includes('text/html')) return replyWithError(err, req, reply)
  const { statusCode } = readError(err, req, reply)
  const page = statusCode === 404 ? notFoundPage(language) : failurePage(language)
  return reply.status(statusCode).headers(PAGE_HEADERS).send(page)
}
