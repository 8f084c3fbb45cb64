import type { Attributes } from '@tiptap/core'

/** Ids name blocks in issues. A copy gets a new one. */
const ID = 'id'

/**
 * Attributes of a block by name, with their values in a new block. Without a value an attribute is left out of the design. They are not read
 * from HTML by name, because `width` or `style` of a pasted element mean something else.
 */
export function attributesOf(defaults: Record<string, unknown>): Attributes {
  return Object.fromEntries(
    Object.entries({ [ID]: undefined, ...defaults }).map(([name, value]) => [
      name,
      { default: value, rendered: false, keepOnSplit: name !== ID, parseHTML: () => null },
    ]),
  )
}

/** The attributes of a block for the clipboard. */
export function writeAttrs(attrs: Record<string, unknown>): string {
  const { [ID]: _, ...copied } = attrs
  return JSON.stringify(copied)
}

/** The attributes of a copied block. Nothing else of a pasted element is taken. */
export function readAttrs(element: HTMLElement, names: string[]): Record<string, unknown> {
  try {
    const given: unknown = JSON.parse(element.getAttribute('data-attrs') ?? '{}')
    if (typeof given !== 'object' || given === null) return {}
    return Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name) && name !== ID))
  } catch {
    return {}
  }
}

const COLOR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i

/** A colour for a style attribute of the canvas; undefined if it is none. */
export const safeColor = (value: unknown): string | undefined => (typeof value === 'string' && COLOR.test(value) ? value : undefined)

/** An address that the canvas may show or link to; undefined for variables and everything else. */
export const safeUrl = (value: unknown): string | undefined =>
  typeof value === 'string' && /^(?:https?:\/\/|mailto:|tel:)/i.test(value) ? value : undefined

export const safeImage = (value: unknown): string | undefined =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && !value.includes('{{') ? value : undefined

/** Targets of links that the API accepts. */
export const isLinkTarget = (value: string) => /^(?:https?:\/\/|mailto:|tel:|\{\{|\{%)/i.test(value.trim())

export const isImageSource = (value: string) => /^(?:https?:\/\/|\{\{|\{%)/i.test(value.trim())
