import {
  type Answer,
  type Body,
  type Connection,
  type HeadersOf,
  type Idempotency,
  type Input,
  type Operation,
  type Query,
  send,
} from './request.ts'

export { type ErrorCode, SternaError } from './error.ts'
export type {
  AddressVerification,
  Consent,
  Contact,
  Domain,
  DomainCheck,
  Email,
  Event,
  Invitation,
  Job,
  Member,
  Project,
  Suppression,
  Template,
  Upload,
  User,
} from './generated.ts'

export type SternaOptions = {
  /** The URL of the Sterna server. Default: the page's origin in a browser, `http://localhost:3000` elsewhere. */
  baseUrl?: string
  /** A key of a project. Without one the browser's session cookie authenticates the user. */
  apiKey?: string
  /** The project of a signed-in user, for endpoints without a project in their path. */
  projectId?: string
  fetch?: typeof fetch
  /** Limit for a whole call, retries included. Default: 30 seconds. */
  timeoutMs?: number
}

/**
 * The Sterna API: `client.noun.verb()`. Every failure is a `SternaError`.
 * A GET is retried up to twice when the network fails or the server answers 503 with a short `Retry-After`. Other requests are never retried.
 */
export class Sterna {
  readonly #connection: Connection

  constructor({ baseUrl, fetch, timeoutMs = 30_000, ...rest }: SternaOptions = {}) {
    const origin = baseUrl ?? globalThis.location?.origin ?? 'http://localhost:3000'
    this.#connection = { ...rest, baseUrl: origin.replace(/\/+$/, ''), fetch: fetch ?? globalThis.fetch, timeoutMs }
  }

  /** Calls any endpoint of the OpenAPI document by name. The methods below are shorthands for it. */
  request<K extends Operation>(
    operation: K,
    ...[input]: Record<never, never> extends Input<K> ? [input?: Input<K>] : [input: Input<K>]
  ): Promise<Answer<K>> {
    // The types come from the server's own OpenAPI document, so the response has this shape.
    return send(this.#connection, operation, input ?? {}) as Promise<Answer<K>>
  }

  readonly config = {
    get: () => this.request('GET /config'),
  }

  readonly auth = {
    signUp: (body: Body<'POST /auth/signup'>) => this.request('POST /auth/signup', { body }),
    logIn: (body: Body<'POST /auth/login'>) => this.request('POST /auth/login', { body }),
    logOut: () => this.request('GET /auth/logout'),
    verifyEmail: (body: Body<'POST /auth/verify-email'>) => this.request('POST /auth/verify-email', { body }),
    requestVerification: () => this.request('POST /auth/request-verification'),
    requestPasswordReset: (body: Body<'POST /auth/request-password-reset'>) => this.request('POST /auth/request-password-reset', { body }),
    resetPassword: (body: Body<'POST /auth/reset-password'>) => this.request('POST /auth/reset-password', { body }),
    changePassword: (body: Body<'POST /auth/change-password'>) => this.request('POST /auth/change-password', { body }),
    acceptInvitation: (body: Body<'POST /auth/accept-invitation'>) => this.request('POST /auth/accept-invitation', { body }),
    oauthConfig: () => this.request('GET /auth/oauth-config'),
  }

  readonly users = {
    me: () => this.request('GET /users/@me'),
  }

  readonly projects = {
    list: () => this.request('GET /users/@me/projects'),
    create: (body: Body<'POST /users/@me/projects'>) => this.request('POST /users/@me/projects', { body }),
    update: (id: string, body: Body<'PATCH /users/@me/projects/{id}'>) =>
      this.request('PATCH /users/@me/projects/{id}', { params: { id }, body }),
    delete: (id: string) => this.request('DELETE /users/@me/projects/{id}', { params: { id } }),
    regenerateKeys: (id: string) => this.request('POST /users/@me/projects/{id}/regenerate-keys', { params: { id } }),
    reset: (id: string) => this.request('POST /users/@me/projects/{id}/reset', { params: { id } }),
    setupState: (id: string) => this.request('GET /projects/{id}/setup-state', { params: { id } }),
  }

  readonly members = {
    list: (projectId: string) => this.request('GET /projects/{id}/members', { params: { id: projectId } }),
    invite: (projectId: string, body: Body<'POST /projects/{id}/members'>) =>
      this.request('POST /projects/{id}/members', { params: { id: projectId }, body }),
    changeRole: (projectId: string, userId: string, body: Body<'PATCH /projects/{id}/members/{userId}'>) =>
      this.request('PATCH /projects/{id}/members/{userId}', { params: { id: projectId, userId }, body }),
    remove: (projectId: string, userId: string) =>
      this.request('DELETE /projects/{id}/members/{userId}', { params: { id: projectId, userId } }),
  }

  readonly invitations = {
    list: (projectId: string) => this.request('GET /projects/{id}/invitations', { params: { id: projectId } }),
    withdraw: (projectId: string, invitationId: string) =>
      this.request('DELETE /projects/{id}/invitations/{invitationId}', { params: { id: projectId, invitationId } }),
  }

  readonly contacts = {
    list: (query: Query<'GET /contacts'> = {}) => this.request('GET /contacts', { query }),
    upsert: (body: Body<'POST /contacts'>) => this.request('POST /contacts', { body }),
    get: (id: string) => this.request('GET /contacts/{id}', { params: { id } }),
    update: (id: string, body: Body<'PATCH /contacts/{id}'>) => this.request('PATCH /contacts/{id}', { params: { id }, body }),
    delete: (id: string) => this.request('DELETE /contacts/{id}', { params: { id } }),
    lookUp: (emails: string[]) => this.request('POST /contacts/lookup', { body: { emails } }),
    consent: (id: string, query: Query<'GET /contacts/{id}/consent'> = {}) =>
      this.request('GET /contacts/{id}/consent', { params: { id }, query }),
    bulkSubscribe: (body: Body<'POST /contacts/bulk-subscribe'>) => this.request('POST /contacts/bulk-subscribe', { body }),
    bulkUnsubscribe: (body: Body<'POST /contacts/bulk-unsubscribe'>) => this.request('POST /contacts/bulk-unsubscribe', { body }),
    bulkDelete: (body: Body<'POST /contacts/bulk-delete'>) => this.request('POST /contacts/bulk-delete', { body }),
    bulkStatus: (jobId: string) => this.request('GET /contacts/bulk/{jobId}', { params: { jobId } }),
    import: (file: Blob) => this.request('POST /contacts/import', { body: form('file', file, 'contacts.csv') }),
    importStatus: (jobId: string) => this.request('GET /contacts/import/{jobId}', { params: { jobId } }),
  }

  readonly events = {
    /** Needs the public key. For browsers and apps. */
    track: (body: Body<'POST /v1/track'>, idempotency: Idempotency = {}) => this.request('POST /v1/track', { body, ...idempotency }),
    /** Needs the secret key or a session. */
    record: (body: Body<'POST /events/track'>) => this.request('POST /events/track', { body }),
    list: (query: Query<'GET /events'> = {}) => this.request('GET /events', { query }),
    ofContact: (contactId: string, query: Query<'GET /events/contact/{contactId}'> = {}) =>
      this.request('GET /events/contact/{contactId}', { params: { contactId }, query }),
    names: () => this.request('GET /events/names'),
    stats: (query: Query<'GET /events/stats'> = {}) => this.request('GET /events/stats', { query }),
    usage: (eventName: string) => this.request('GET /events/{eventName}/usage', { params: { eventName } }),
    delete: (eventName: string) => this.request('DELETE /events/{eventName}', { params: { eventName } }),
  }

  readonly emails = {
    /** Needs the secret key. */
    send: (body: Body<'POST /v1/send'>, idempotency: Idempotency = {}) => this.request('POST /v1/send', { body, ...idempotency }),
    list: (query: Query<'GET /emails'> = {}) => this.request('GET /emails', { query }),
    get: (id: string) => this.request('GET /emails/{id}', { params: { id } }),
    resend: (id: string) => this.request('POST /emails/{id}/resend', { params: { id } }),
  }

  /** Addresses and domains that receive no email. */
  readonly suppressions = {
    list: (query: Query<'GET /suppressions'> = {}) => this.request('GET /suppressions', { query }),
    add: (body: Body<'POST /suppressions'>) => this.request('POST /suppressions', { body }),
    remove: (address: string) => this.request('DELETE /suppressions/{address}', { params: { address } }),
  }

  /** Messages of an installation without a mail transport, which are stored instead of sent. */
  readonly sandbox = {
    list: (query: Query<'GET /sandbox/messages'> = {}) => this.request('GET /sandbox/messages', { query }),
    get: (id: string) => this.request('GET /sandbox/messages/{id}', { params: { id } }),
  }

  readonly templates = {
    list: (query: Query<'GET /templates'> = {}) => this.request('GET /templates', { query }),
    create: (body: Body<'POST /templates'>) => this.request('POST /templates', { body }),
    get: (id: string) => this.request('GET /templates/{id}', { params: { id } }),
    update: (id: string, body: Body<'PATCH /templates/{id}'>, headers: HeadersOf<'PATCH /templates/{id}'> = {}) =>
      this.request('PATCH /templates/{id}', { params: { id }, headers, body }),
    delete: (id: string) => this.request('DELETE /templates/{id}', { params: { id } }),
    duplicate: (id: string) => this.request('POST /templates/{id}/duplicate', { params: { id } }),
    usage: (id: string) => this.request('GET /templates/{id}/usage', { params: { id } }),
    preview: (id: string, body: Body<'POST /templates/{id}/preview'> = {}) =>
      this.request('POST /templates/{id}/preview', { params: { id }, body }),
    lint: (id: string) => this.request('POST /templates/{id}/lint', { params: { id } }),
    lintContent: (body: Body<'POST /templates/lint'>) => this.request('POST /templates/lint', { body }),
  }

  readonly fields = {
    list: () => this.request('GET /contacts/fields'),
    values: (field: string, query: Query<'GET /contacts/fields/{field}/values'> = {}) =>
      this.request('GET /contacts/fields/{field}/values', { params: { field }, query }),
    usage: (field: string) => this.request('GET /contacts/fields/{field}/usage', { params: { field } }),
    delete: (field: string) => this.request('DELETE /contacts/fields/{field}', { params: { field } }),
  }

  readonly domains = {
    list: (projectId = 'current') => this.request('GET /domains/project/{projectId}', { params: { projectId } }),
    add: (domain: string) => this.request('POST /domains', { body: { domain } }),
    verify: (id: string) => this.request('GET /domains/{id}/verify', { params: { id } }),
    remove: (id: string) => this.request('DELETE /domains/{id}', { params: { id } }),
  }

  readonly verify = {
    email: (email: string) => this.request('POST /v1/verify', { body: { email } }),
  }

  readonly uploads = {
    image: (image: Blob, filename = image instanceof File ? image.name : 'image') =>
      this.request('POST /uploads/image', { body: form('image', image, filename) }),
  }
}

function form(field: string, file: Blob, filename: string): FormData {
  const data = new FormData()
  data.set(field, file, filename)
  return data
}
