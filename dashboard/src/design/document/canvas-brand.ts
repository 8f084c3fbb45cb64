import type { Brand, Design } from '@sterna/sdk'

/** The brand that a design is shown with on the canvas. */
export type CanvasBrand = Brand

/** Settings of a design override the brand of the project, field by field, as on the server. */
export function brandOf(project: Brand, theme: NonNullable<Design['settings']>['theme']): CanvasBrand {
  if (!theme) return project
  return {
    ...project,
    ...definedOf(theme),
    colors: { ...project.colors, ...definedOf(theme.colors ?? {}) },
    footer: { ...project.footer, ...definedOf(theme.footer ?? {}) },
  }
}

const definedOf = <Value extends object>(value: Value) =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined && each !== null)) as Partial<Value>

const DEFAULTS = { primary: '#0b6e82', background: '#f4f6f8', text: '#24323a', radius: 6 }

/** CSS variables of the canvas. The server decides how the email looks; this is near enough to write in. */
export function canvasVariables({ colors, font, radius }: CanvasBrand, width: number): Record<string, string> {
  const accent = colors?.primary ?? DEFAULTS.primary
  return {
    '--email-accent': accent,
    '--email-on-accent': isDark(accent) ? '#ffffff' : '#000000',
    '--email-background': colors?.background ?? DEFAULTS.background,
    '--email-text': colors?.text ?? DEFAULTS.text,
    '--email-font': font ? `${font}, ui-sans-serif, sans-serif` : 'ui-sans-serif, system-ui, sans-serif',
    '--email-radius': `${radius ?? DEFAULTS.radius}px`,
    '--email-width': `${width}px`,
  }
}

/** Whether white text has more contrast on it than black. */
function isDark(color: string): boolean {
  const digits = color.length === 4 ? [...color.slice(1)].map((digit) => digit + digit).join('') : color.slice(1)
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const share = Number.parseInt(digits.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179
}
