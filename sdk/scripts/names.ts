/** An operation of the document: `GET /contacts/{id}`. */
export type Endpoint = { method: string; path: string; isList: boolean }
/** Where the SDK has it: `sterna.contacts.get`. */
export type Name = { resource: string; method: string }

/** Paths that belong to another resource than their first segment names. The longest match counts. */
const RESOURCES: Record<string, string> = {
  '/contacts/fields': 'fields',
  '/projects/{id}/invitations': 'invitations',
  '/projects/{id}/members': 'members',
  '/sandbox/messages': 'sandbox',
  '/users/@me': 'users',
  '/users/@me/projects': 'projects',
}

/** Names that the rules below would not find. Null: `Sterna` has a method of its own, or the operation only repeats another. */
const NAMES: Record<string, string | null> = {
  'POST /v1/send': null,
  'POST /v1/track': null,
  'POST /v1/verify': null,
  'POST /auth/signup': 'signUp',
  'POST /auth/login': 'logIn',
  'GET /auth/logout': 'logOut',
  'POST /segments/explain': 'explainCondition',
  'GET /segments/usage': 'usageCounts',
  'GET /templates/usage': 'usageCounts',
  'GET /users/@me': 'me',
  'DELETE /users/@me/sessions': 'endOtherSessions',
  'DELETE /users/@me/sessions/{sessionId}': 'endSession',
  'GET /users/@me/projects/{id}/security': null,
  'POST /projects/{id}/members': 'invite',
  'PATCH /projects/{id}/members/{userId}': 'changeRole',
  'DELETE /projects/{id}/members/{userId}': 'remove',
  'DELETE /projects/{id}/invitations/{invitationId}': 'withdraw',
  'POST /projects/{id}/webhook-secret': 'rotateWebhookSecret',
  'POST /contacts': 'upsert',
  'POST /contacts/import': 'import',
  'GET /contacts/import/{jobId}': 'importStatus',
  'GET /contacts/bulk/{jobId}': 'bulkStatus',
  'POST /contacts/lookup': 'lookUp',
  'POST /contacts/export': 'export',
  'GET /contacts/export/{jobId}': 'exportStatus',
  'GET /contacts/export/{jobId}/file': 'exportFile',
  'GET /campaigns/export/{jobId}': 'exportStatus',
  'GET /campaigns/export/{jobId}/file': 'exportFile',
  'PUT /campaigns/{id}/rate': 'changeRate',
  'POST /domains': 'add',
  'DELETE /domains/{id}': 'remove',
  'GET /domains/project/{projectId}': 'list',
  'GET /events/contact/{contactId}': 'ofContact',
  'POST /events/track': 'record',
  'POST /suppressions': 'add',
  'DELETE /suppressions/{address}': 'remove',
  'POST /suppressions/bulk': 'addMany',
  'GET /suppressions/export': 'download',
  'POST /suppressions/export': 'export',
  'GET /suppressions/export/{jobId}': 'exportStatus',
  'GET /suppressions/export/{jobId}/file': 'exportFile',
  'POST /emails': 'send',
  'POST /emails/export': 'export',
  'GET /emails/export/{jobId}': 'exportStatus',
  'GET /emails/export/{jobId}/file': 'exportFile',
  'POST /templates/lint': 'lintContent',
  'POST /templates/preview': 'previewContent',
  'POST /workflows/recipes/{key}': 'createFromRecipe',
  'POST /workflows/{id}/webhook-preview': 'previewWebhook',
  'POST /workflows/{id}/webhook-test': 'testWebhook',
  'POST /workflows/{id}/executions': 'startExecution',
  'DELETE /workflows/{id}/executions/{executionId}': 'cancelExecution',
  'GET /workflows/{id}/steps/{stepId}/visits': 'stepVisits',
}

const VERBS: Record<string, string> = { GET: 'get', POST: 'create', PUT: 'update', PATCH: 'update', DELETE: 'delete' }

/** The names of all endpoints, by `METHOD /path`. Two endpoints never share one. */
export function nameEndpoints(endpoints: Endpoint[]): Map<string, Name> {
  const operations = new Set(endpoints.map(operationOf))
  const taken = new Map<string, string>()
  const names = new Map<string, Name>()
  for (const endpoint of endpoints) {
    const operation = operationOf(endpoint)
    const given = NAMES[operation]
    if (given === null) continue
    const [resource, rest] = splitPath(endpoint.path)
    const method = given ?? nameMethod(endpoint, rest, operations)
    const other = taken.get(`${resource}.${method}`)
    if (other) throw new Error(`${other} and ${operation} are both ${resource}.${method}: name one of them in sdk/scripts/names.ts`)
    taken.set(`${resource}.${method}`, operation)
    names.set(operation, { resource, method })
  }
  return names
}

const operationOf = ({ method, path }: Endpoint) => `${method} ${path}`

/** The resource of a path, and the segments below it. */
function splitPath(path: string): [resource: string, rest: string[]] {
  const [first] = path.split('/').filter(Boolean)
  const prefixes = Object.keys(RESOURCES).filter((prefix) => isBelow(path, prefix) || path === prefix)
  const prefix = prefixes.sort((a, b) => b.length - a.length)[0] ?? `/${first}`
  return [RESOURCES[prefix] ?? camel(first!), path.slice(prefix.length).split('/').filter(Boolean)]
}

/**
 * `contacts`: list, create; `contacts/{id}`: get, update, delete; `{id}/duplicate`: duplicate;
 * `{id}/steps` and `{id}/steps/{stepId}`: listSteps, createStep, getStep, updateStep, deleteStep.
 */
function nameMethod({ method, path, isList }: Endpoint, rest: string[], operations: Set<string>): string {
  const verb = VERBS[method]!
  const words = rest.filter((segment) => !isParameter(segment))
  const last = words.at(-1)
  if (last === undefined) return method === 'GET' && rest.length === 0 && (isList || hasItems(path, operations)) ? 'list' : verb
  if (isParameter(rest.at(-1)!)) {
    const collection = path.slice(0, path.lastIndexOf('/'))
    const isItem = [...operations].some((operation) => operation.endsWith(` ${collection}`))
    return isItem ? verb + pascal(singular(last)) : camel(words.join('-'))
  }
  if (hasItems(path, operations)) return method === 'GET' ? `list${pascal(last)}` : verb + pascal(singular(last))
  if (method === 'GET') return camel(words.join('-'))
  if (method === 'DELETE') return `remove${pascal(last)}`
  if (method !== 'POST') return `update${pascal(last)}`
  // A POST beside a DELETE adds what the other removes; alone it is a verb.
  if (operations.has(`DELETE ${path}`)) return `add${pascal(last)}`
  const isOfOne = isParameter(rest.at(-2) ?? '')
  const owners = words.slice(0, -1).map((word) => pascal(isOfOne ? singular(word) : word))
  return camel(last) + owners.join('')
}

const isParameter = (segment: string) => segment.startsWith('{')

const isBelow = (path: string, prefix: string) => path.startsWith(`${prefix}/`)

/** There is `/steps/{stepId}` beside `/steps`. */
const hasItems = (path: string, operations: Set<string>) =>
  [...operations].some((operation) => {
    const other = operation.split(' ')[1]!
    return isBelow(other, path) && /^\/\{\w+\}$/.test(other.slice(path.length))
  })

const singular = (word: string) => word.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')

export const pascal = (text: string) =>
  text
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')

export const camel = (text: string) => {
  const name = pascal(text)
  return name.slice(0, 1).toLowerCase() + name.slice(1)
}
