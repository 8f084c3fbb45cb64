import type { Document, DocumentedOperation, Schema } from './generate.ts'
import { camel, nameEndpoints, pascal } from './names.ts'

type Known = Exclude<Schema, boolean>
type Paging = 'cursor' | 'page' | 'whole'
type List = { paging: Paging; items: string }
type Endpoint = { name: string; resource: string; method: string; operation: DocumentedOperation; list: List | undefined }

/** Arguments that have a default: a key always belongs to one project. */
const DEFAULTS: Record<string, string> = { 'GET /domains/project/{projectId}': 'current' }

/** The classes of the resources, and `Resources`, which has one field for each. */
export function printResources(endpoints: [name: string, operation: DocumentedOperation][], document: Document): string {
  const named = nameAll(endpoints, document)
  const resources = [...new Set(named.map(({ resource }) => resource))].sort()
  const classes = resources.map((resource) =>
    printClass(
      resource,
      named.filter((endpoint) => endpoint.resource === resource),
    ),
  )
  const downloads = endpoints.filter(([, operation]) => isDownload(operation)).map(([name]) => `  '${name}',\n`)
  return [
    `/** Operations that return a file. */\nexport const DOWNLOADS: ReadonlySet<string> = /* @__PURE__ */ new Set<string>([\n${downloads.join('')}])\n`,
    ...classes,
    printRoot(resources),
  ].join('\n')
}

function nameAll(endpoints: [string, DocumentedOperation][], document: Document): Endpoint[] {
  const lists = new Map(endpoints.map(([name, operation]) => [name, name.startsWith('GET ') ? listOf(operation, document) : undefined]))
  const names = nameEndpoints(
    endpoints.map(([name]) => {
      const [method, path] = name.split(' ') as [string, string]
      return { method, path, isList: lists.get(name) !== undefined }
    }),
  )
  return endpoints.flatMap(([name, operation]) => {
    const found = names.get(name)
    return found ? [{ name, operation, list: lists.get(name), ...found }] : []
  })
}

function printRoot(resources: string[]): string {
  const fields = resources.map((resource) => `  readonly ${resource}: ${className(resource)}\n`)
  const values = resources.map((resource) => `    this.${resource} = new ${className(resource)}(call)\n`)
  return `/** All resources of the API. */\nexport class Resources {\n${fields.join('')}\n  constructor(call: Call) {\n${values.join('')}  }\n}\n`
}

const className = (resource: string) => `${pascal(resource)}Api`

function printClass(resource: string, endpoints: Endpoint[]): string {
  const methods = endpoints.flatMap((endpoint) => [printMethod(endpoint), ...printIterator(endpoint)])
  return `export class ${className(resource)} extends Resource {\n${methods.join('\n')}}\n`
}

type Argument = { name: string; type: string; fallback?: string }

function argumentsOf({ name, operation }: Endpoint): { params: Argument[]; input: Argument[]; parts: string[] } {
  const params = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'path')
    .map((parameter) => ({
      name: parameter.name,
      type: 'string',
      ...(DEFAULTS[name] && { fallback: `'${DEFAULTS[name]}'` }),
    }))
  const input: Argument[] = []
  const parts = params.length ? [`params: { ${params.map((param) => param.name).join(', ')} }`] : []
  const file = fileFieldOf(operation)
  if (file) {
    input.push({ name: 'file', type: 'Blob' })
    const { others, fallback } = file
    if (others) input.push({ name: 'fields', type: `Omit<Body<'${name}'>, '${file.field}'>`, ...(fallback && { fallback }) })
    parts.push(`body: { ${others ? '...fields, ' : ''}${file.field === 'file' ? 'file' : `${file.field}: file`} }`)
  } else if (operation.requestBody) {
    const isOptional = operation.requestBody.required === false
    input.push({ name: 'body', type: `Body<'${name}'>`, ...(isOptional && { fallback: '{}' }) })
    parts.push('body')
  }
  if ((operation.parameters ?? []).some((parameter) => parameter.in === 'query')) {
    input.push({ name: 'query', type: `Query<'${name}'>`, fallback: '{}' })
    parts.push('query')
  }
  return { params, input, parts }
}

/** Methods are fields, so that they can be passed on without their object: `onClick={sterna.auth.logOut}`. */
function printMethod(endpoint: Endpoint): string {
  const { name, method, operation } = endpoint
  const { params, input, parts } = argumentsOf(endpoint)
  const options = { name: 'options', type: optionsOf(operation), fallback: '{}' }
  const list = printArguments([...params, ...input, options])
  return `${printDoc(operation)}  readonly ${method} = (${list}): Promise<Result<'${name}'>> =>
    this.call('${name}', ${parts.length ? `{ ${parts.join(', ')} }` : '{}'}, options)
`
}

function printIterator(endpoint: Endpoint): string[] {
  const { name, method, operation, list } = endpoint
  if (!list) return []
  const { params, input } = argumentsOf(endpoint)
  const given = params.map((param) => `${param.name}, `).join('')
  const iterator = `all${pascal(method.replace(/^list/, ''))}`
  const bound = { name: '{ max, ...options }', type: 'CallOptions & Bound', fallback: '{}' }
  if (list.paging === 'whole') {
    const call = `this.${method}(${given}${input.map((argument) => `${argument.name}, `).join('')}options)`
    const [item, read] = list.items
      ? [`Result<'${name}'>['${list.items}'][number]`, `${call}.then(({ ${list.items} }) => ${list.items})`]
      : [`Result<'${name}'>[number]`, call]
    return [
      `  /** Iterates over all items of \`${method}\`. */
  readonly ${iterator} = (${printArguments([...params, ...input, bound])}): Items<${item}> =>
    iterateWhole(() => ${read}, { max })
`,
    ]
  }
  const doc = `  /** Iterates over all items of \`${method}\`, page by page. */\n`
  const [iterate, position] = list.paging === 'cursor' ? ['iterateByCursor', 'cursor'] : ['iterateByPage', 'page']
  // Some lists call the size of a page `limit`, others `pageSize`; some take a page number beside the cursor.
  const queries = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query').map((parameter) => parameter.name)
  const size = ['limit', 'pageSize'].find((query) => queries.includes(query))
  const omitted = ['cursor', 'page'].filter((query) => queries.includes(query)).map((query) => `'${query}'`)
  const query = { name: 'query', type: `Omit<Query<'${name}'>, ${omitted.join(' | ')}>`, fallback: '{}' }
  return [
    `${doc}  readonly ${iterator} = (${printArguments([...params, query, bound])}): Items<Result<'${name}'>['${list.items}'][number]> =>
    ${iterate}(
      (${size ?? '_size'}, ${position}) => this.${method}(${given}{ ...query, ${size ? `${size}, ` : ''}${position} }, options),
      (page) => page.${list.items},
      { max${size ? `, pageSize: query.${size}` : ''} },
    )
`,
  ]
}

const printArguments = (all: Argument[]) =>
  all.map(({ name, type, fallback }) => `${name}: ${type}${fallback === undefined ? '' : ` = ${fallback}`}`).join(', ')

function optionsOf({ parameters = [] }: DocumentedOperation): string {
  const headers = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name.toLowerCase())
  if (headers.includes('if-match')) return 'RevisionOptions'
  return headers.includes('idempotency-key') ? 'IdempotentOptions' : 'CallOptions'
}

function printDoc({ summary, description }: DocumentedOperation): string {
  const text = [summary, description].filter(Boolean).join('. ').replaceAll('*/', '').replaceAll(/\s+/g, ' ')
  return text ? `  /** ${text} */\n` : ''
}

const jsonOf = (content: Record<string, { schema?: Schema }> | undefined) => content?.['application/json']?.schema

function resolve(schema: Schema | undefined, { components }: Document): Known | undefined {
  if (typeof schema !== 'object') return undefined
  return schema.$ref ? resolve(components?.schemas?.[schema.$ref.split('/').at(-1)!], { components }) : schema
}

/** What a list may say about itself beside its items. */
const ABOUT_ITEMS = new Set(['count', 'truncated'])

/** How a response is paged, and the property with its items. A response with one array and nothing else is a list without pages. */
function listOf({ responses = {} }: DocumentedOperation, document: Document): List | undefined {
  const schema = resolve(jsonOf(responses['200']?.content), document)
  if (schema?.type === 'array') return { paging: 'whole', items: '' }
  const properties = schema?.properties ?? {}
  const paging = properties.cursor && properties.hasMore ? 'cursor' : properties.totalPages ? 'page' : undefined
  const arrays = Object.keys(properties).filter((key) => resolve(properties[key], document)?.type === 'array')
  const items = arrays.includes('data') ? 'data' : arrays[0]
  if (!items) return undefined
  const isWhole = Object.keys(properties).every((key) => key === items || ABOUT_ITEMS.has(key))
  return paging ? { paging, items } : isWhole ? { paging: 'whole', items } : undefined
}

export function isDownload({ responses = {} }: DocumentedOperation): boolean {
  const contents = Object.entries(responses).flatMap(([status, { content }]) => (status.startsWith('2') ? Object.keys(content ?? {}) : []))
  return contents.length > 0 && !contents.includes('application/json')
}

export const formOf = ({ requestBody }: DocumentedOperation) => {
  const schema = requestBody?.content['multipart/form-data']?.schema
  return typeof schema === 'object' ? schema : undefined
}

export const isFile = (schema: Schema | undefined) => typeof schema === 'object' && schema.format === 'binary'

/** The field of a form that takes the file, and whether the form has others. */
function fileFieldOf(operation: DocumentedOperation) {
  const { properties = {}, required = [] } = formOf(operation) ?? {}
  const field = Object.keys(properties).find((name) => isFile(properties[name]))
  if (!field) return undefined
  const others = Object.keys(properties).filter((name) => name !== field)
  const areOptional = others.every((name) => !required.includes(name))
  return { field: camel(field), others: others.length > 0, fallback: areOptional ? '{}' : undefined }
}
