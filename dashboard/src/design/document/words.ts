type Attrs = Record<string, unknown>

/** Names of the blocks, in the menu and in the outline. */
export const BLOCK_NAMES: Record<string, string> = {
  heading: 'Heading',
  paragraph: 'Text',
  bulletList: 'Bullet list',
  orderedList: 'Numbered list',
  button: 'Button',
  image: 'Picture',
  divider: 'Divider',
  spacer: 'Space',
  section: 'Section',
  columns: 'Columns',
  column: 'Column',
  social: 'Social links',
  footer: 'Footer',
  html: 'HTML',
  condition: 'Condition',
  loop: 'Repeat',
}

export const BLOCK_OPERATORS: Record<string, string> = {
  equals: 'is',
  notEquals: 'is not',
  contains: 'contains',
  notContains: 'does not contain',
  greaterThan: 'is greater than',
  lessThan: 'is less than',
  greaterThanOrEqual: 'is at least',
  lessThanOrEqual: 'is at most',
  exists: 'has a value',
  notExists: 'has no value',
}

const text = (value: unknown) => (value === undefined || value === null ? '' : String(value))

/** `Shown if plan is pro`. */
export function conditionWords({ field, operator, value, expression }: Attrs): string {
  if (expression) return `Shown if ${text(expression)}`
  if (!field) return 'Shown if … (choose a field)'
  const name = text(field).replace(/^data\./, '')
  const needsValue = operator !== 'exists' && operator !== 'notExists'
  return `Shown if ${name} ${BLOCK_OPERATORS[text(operator)] ?? '…'}${needsValue ? ` ${text(value) || '…'}` : ''}`
}

/** `Repeated for each item in items`. */
export const loopWords = ({ item, list }: Attrs) => `Repeated for each ${text(item) || '…'} in ${text(list) || '…'}`

export const SOCIAL_NAMES: Record<string, string> = {
  facebook: 'Facebook',
  instagram: 'Instagram',
  x: 'X',
  twitter: 'Twitter',
  linkedin: 'LinkedIn',
  youtube: 'YouTube',
  tiktok: 'TikTok',
  github: 'GitHub',
  mastodon: 'Mastodon',
  bluesky: 'Bluesky',
  threads: 'Threads',
  discord: 'Discord',
  website: 'Website',
  email: 'Email',
}

/** A variable as it is shown in the text: its field, or the last part of a path. */
export const variableWords = ({ path }: Attrs) => text(path)
