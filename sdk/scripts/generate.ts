import { readFile, writeFile } from 'node:fs/promises'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { formOf, isDownload, isFile, printResources } from './resources.ts'

/** The parts of an OpenAPI 3.1 document that become types. Examples and limits do not. */
export type Schema =
  | boolean
  | {
      $ref?: string
      description?: string
      type?: string | string[]
      format?: string
      nullable?: boolean
      const?: unknown
      enum?: unknown[]
      anyOf?: Schema[]
      oneOf?: Schema[]
      allOf?: Schema[]
      not?: Schema
      properties?: Record<string, Schema>
      required?: string[]
      additionalProperties?: Schema
      items?: Schema
      prefixItems?: Schema[]
    }

type Content = Record<string, { schema?: Schema }>
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Schema }
export type DocumentedOperation = {
  summary?: string
  description?: string
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses?: Record<string, { content?: Content }>
}
export type Document = {
  paths?: Record<string, Record<string, unknown>>
  components?: { schemas?: Record<string, Schema> }
}

/** `joined` is the outermost operator of the text: the caller adds parentheses where needed. */
type Printed = { text: string; joined?: '|' | '&' }

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const WIDTH = 120

/** What the generated code may need from the hand-written files. */
const IMPORTS = {
  './download.ts': ['type Download'],
  './list.ts': ['type Bound', 'type Items', 'iterateByCursor', 'iterateByPage', 'iterateWhole'],
  './request.ts': [
    'type Body',
    'type Call',
    'type CallOptions',
    'type IdempotentOptions',
    'type Query',
    'type Result',
    'type RevisionOptions',
  ],
  './resource.ts': ['Resource'],
}

/** The content of `generated.ts` for a document: its types, and a method for each operation. */
export function printClient(document: Document): string {
  const code = [printTypes(document), printMethods(document)].join('\n')
  const imports = Object.entries(IMPORTS).map(([file, names]) => {
    const used = names.filter((name) => new RegExp(`\\b${name.replace('type ', '')}\\b`).test(code))
    return used.length ? `${printImport(used)} from '${file}'\n` : ''
  })
  return `// Generated from docs/openapi.json by \`npm run openapi\`. Do not edit.\n\n${imports.join('')}\n${code}`
}

function printImport(names: string[]): string {
  const onlyTypes = names.every((name) => name.startsWith('type '))
  return onlyTypes ? `import type { ${names.map((name) => name.slice('type '.length)).join(', ')} }` : `import { ${names.join(', ')} }`
}

/** Schemas and paths are sorted, so that a moved route makes no diff. */
export function printTypes(document: Document): string {
  const schemas = sortedEntries(document.components?.schemas ?? {}).map(
    ([name, schema]) => `${doc(schema, '')}export type ${typeName(name)} = ${typeOf(schema, '').text}\n`,
  )
  const operations = operationsOf(document).map(([name, operation]) => printOperation(name, operation))
  return [
    ...schemas,
    `/** The input and the 2xx response of every endpoint. */\nexport interface Operations {\n${operations.join('\n')}}\n`,
  ]
    .join('\n')
    .replaceAll(/ +$/gm, '')
}

export const printMethods = (document: Document) => printResources(operationsOf(document), document)

const operationsOf = (document: Document) =>
  sortedEntries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method): [string, DocumentedOperation] => [
      `${method.toUpperCase()} ${path}`,
      // A path item maps these five keys to operations; its other keys are not read.
      item[method] as DocumentedOperation,
    ]),
  )

function printOperation(name: string, operation: DocumentedOperation): string {
  const parameters = operation.parameters ?? []
  const lines = [
    `params: ${parametersOf(parameters.filter((parameter) => parameter.in === 'path'))}`,
    `query: ${parametersOf(parameters.filter((parameter) => parameter.in === 'query').map(withBoolean))}`,
    `headers: ${parametersOf(parameters.filter((parameter) => parameter.in === 'header'))}`,
    `body: ${bodyOf(operation)}`,
    `response: ${isDownload(operation) ? 'Download' : responseOf(operation.responses ?? {})}`,
  ]
  const description = [operation.summary, operation.description].filter(Boolean).join('\n\n')
  return `${doc({ description }, '  ')}  ${quote(name)}: {\n${lines.map((line) => `    ${line}\n`).join('')}  }\n`
}

function parametersOf(parameters: Parameter[]): string {
  if (parameters.length === 0) return 'undefined'
  return printProperties(
    parameters.map(({ name, required, description, schema }) => ({ name, optional: !required, schema, description })),
    '    ',
  )
}

/** A query has only text, so the document spells a boolean as 'true' or 'false'; a program has a boolean, and a URL the text. */
const withBoolean = (parameter: Parameter): Parameter =>
  typeof parameter.schema === 'object' && String(parameter.schema.enum) === 'true,false'
    ? { ...parameter, schema: { anyOf: [{ type: 'boolean' }, parameter.schema] } }
    : parameter

function bodyOf(operation: DocumentedOperation): string {
  const { requestBody: body } = operation
  if (!body) return 'undefined'
  const form = formOf(operation)
  const type = typeOf(form ?? body.content['application/json']?.schema, '    ')
  return body.required === false ? join('|', [type, { text: 'undefined' }], '    ').text : type.text
}

function responseOf(responses: NonNullable<DocumentedOperation['responses']>): string {
  const bodies = sortedEntries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => response.content?.['application/json'])
    .map((json) => (json ? typeOf(json.schema, '    ') : { text: 'undefined' }))
  return join('|', bodies, '    ').text || 'undefined'
}

function typeOf(schema: Schema | undefined, indent: string): Printed {
  if (schema === undefined || schema === true) return { text: 'unknown' }
  if (schema === false || isEmptySchema(schema.not)) return { text: 'never' }
  const type = join('&', constraints(schema, indent), indent)
  return schema.nullable ? join('|', [type, { text: 'null' }], indent) : type
}

/** Types that a value must have at the same time: one for most schemas, several for `allOf` or a `$ref` with siblings. */
function constraints(schema: Exclude<Schema, boolean>, indent: string): Printed[] {
  if ('const' in schema) return [{ text: literal(schema.const) }]
  if (schema.enum) {
    const values = schema.enum.map((value) => ({ text: literal(value) }))
    return [join('|', values, indent)]
  }

  const found: Printed[] = []
  if (schema.$ref) found.push({ text: typeName(schema.$ref.split('/').at(-1)!) })
  const choices = schema.anyOf ?? schema.oneOf
  if (choices && !onlyRestrict(schema, choices)) {
    const types = choices.map((choice) => typeOf(choice, indent))
    found.push(join('|', types, indent))
  }
  for (const part of schema.allOf ?? []) found.push(typeOf(part, indent))
  // Beside a reference or a choice a bare `type: object` adds nothing; properties do.
  if (found.length === 0 || schema.properties) {
    const shapes = [schema.type ?? impliedType(schema)].flat().map((type) => shapeOf(type, schema, indent))
    found.push(join('|', shapes, indent))
  }
  return found
}

/** Choices beside properties that only restrict which of them go together are not expressed in the type. */
const onlyRestrict = ({ properties }: Exclude<Schema, boolean>, choices: Schema[]) =>
  properties !== undefined && choices.every((choice) => typeof choice === 'object' && !choice.type && !choice.$ref)

function impliedType(schema: Exclude<Schema, boolean>): string {
  if (schema.properties || schema.additionalProperties !== undefined) return 'object'
  if (schema.items !== undefined || schema.prefixItems) return 'array'
  return 'unknown'
}

function shapeOf(type: string, schema: Exclude<Schema, boolean>, indent: string): Printed {
  if (type === 'integer') return { text: 'number' }
  if (isFile(schema)) return { text: 'Blob' }
  if (type === 'array') return arrayOf(schema, indent)
  if (type === 'object') return objectOf(schema, indent)
  return { text: type }
}

function arrayOf({ items, prefixItems }: Exclude<Schema, boolean>, indent: string): Printed {
  const item = typeOf(items, indent)
  const list = `${item.joined ? `(${item.text})` : item.text}[]`
  if (!prefixItems) return { text: list }
  const members = prefixItems.map((member) => typeOf(member, indent).text)
  if (items !== undefined && items !== false) members.push(`...${list}`)
  return { text: `[${members.join(', ')}]` }
}

function objectOf({ properties = {}, required = [], additionalProperties }: Exclude<Schema, boolean>, indent: string): Printed {
  const known = Object.entries(properties).map(([name, schema]) => ({ name, optional: !required.includes(name), schema }))
  if (known.length === 0) {
    const value = additionalProperties === false ? 'never' : typeOf(additionalProperties, indent).text
    return { text: `Record<string, ${value}>` }
  }
  const closed = { text: printProperties(known, indent) }
  if (!additionalProperties) return closed
  const open = { text: `Record<string, ${typeOf(additionalProperties, indent).text}>` }
  return join('&', [closed, open], indent)
}

type Property = { name: string; optional: boolean; schema: Schema | undefined; description?: string }

function printProperties(properties: Property[], indent: string): string {
  const inner = `${indent}  `
  const lines = properties.map(({ name, optional, schema, description }) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
    return `${doc(description ? { description } : schema, inner)}${inner}${key}${optional ? '?' : ''}: ${typeOf(schema, inner).text}\n`
  })
  return `{\n${lines.join('')}${indent}}`
}

function join(operator: '|' | '&', types: Printed[], indent: string): Printed {
  const distinct = [...new Map(types.map((type) => [type.text, type])).values()]
  if (distinct.length <= 1) return distinct[0] ?? { text: '' }
  const texts = distinct.map(({ text, joined }) => (operator === '&' && joined === '|' ? `(${text})` : text))
  const line = texts.join(` ${operator} `)
  const fits = line.length + indent.length <= WIDTH || line.includes('\n')
  return { text: fits ? line : texts.map((text) => `\n${indent}  ${operator} ${text}`).join(''), joined: operator }
}

function doc(schema: Schema | undefined, indent: string): string {
  const description = typeof schema === 'object' ? schema.description?.trim() : undefined
  if (!description) return ''
  const lines = description.replaceAll('*/', '*\\/').split('\n')
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

function typeName(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter(Boolean)
  const pascal = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  return /^\d/.test(pascal) ? `_${pascal}` : pascal
}

function literal(value: unknown): string {
  return typeof value === 'string' ? quote(value) : JSON.stringify(value)
}

function quote(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function isEmptySchema(schema: Schema | undefined): boolean {
  return schema === true || (typeof schema === 'object' && Object.keys(schema).length === 0)
}

function sortedEntries<Value>(record: Record<string, Value>): [string, Value][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const document = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
  await writeFile(new URL('../src/generated.ts', import.meta.url), printClient(JSON.parse(document)))
  console.log('Wrote sdk/src/generated.ts')
}
