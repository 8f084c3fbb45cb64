import type { Brand } from '@sterna/sdk'
import { isImageSource, isLinkTarget } from '../../design/document/block-attrs.ts'
import { ordered } from '../../design/document/design-json.ts'

export const isImageAddress = isImageSource

/** A brand with some fields changed. A field that is null is not set, and left out. */
export function withBrand(brand: Brand, patch: Brand): Brand {
  const given = (value: object) => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null && each !== undefined))
  const { colors, footer, ...rest } = { ...brand, ...patch }
  const parts = { ...(colors && { colors: given(colors) }), ...(footer && { footer: given(footer) }) }
  const filled = Object.entries(parts).filter(([, part]) => Object.keys(part).length > 0)
  return ordered({ ...given(rest), ...Object.fromEntries(filled) })
}

/** Why a brand cannot be saved; undefined if it can. */
export function brandProblemOf({ footer }: Brand): string | undefined {
  const links = footer?.links ?? []
  if (links.some(({ label }) => !label.trim())) return 'every link needs a text'
  return links.some(({ href }) => !isLinkTarget(href)) ? 'every link needs an address' : undefined
}
