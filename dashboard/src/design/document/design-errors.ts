import type { Design } from '@sterna/sdk'
import type { DocumentNode } from './design-json.ts'

type FieldError = { field: string; message: string }

/** Errors of a request at the blocks they are about: `design.content.1.content.0.attrs.href` → the id of that block. */
export function designErrors(design: Design, errors: FieldError[]) {
  return errors
    .filter(({ field }) => field === 'design' || field.startsWith('design.'))
    .map(({ field, message }) => {
      const { blockId, name } = findBlock(design, field.split('.').slice(1))
      return { severity: 'error' as const, message: name ? `${name}: ${message}` : message, ...(blockId && { blockId }) }
    })
}

/** The innermost block on the way, and what is left of the path: the name of its attribute. */
function findBlock(design: Design, path: string[]) {
  let nodes: DocumentNode[] = design.content as DocumentNode[]
  let blockId: string | undefined
  let at = 0
  while (path[at] === 'content') {
    const node = nodes[Number(path[at + 1])]
    if (!node) break
    if (typeof node.attrs?.id === 'string') blockId = node.attrs.id
    nodes = node.content ?? []
    at += 2
  }
  const name = path[at] === 'attrs' ? path[at + 1] : undefined
  return { blockId, name }
}
