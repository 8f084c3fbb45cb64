import { AlignCenter, AlignLeft, AlignRight, type LucideIcon } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import { isLinkTarget } from '../document/block-attrs.ts'

/** Inputs of the settings. A typed value reaches the design only when it is valid. */

type Choice<Value> = { value: Value; label: string; icon?: LucideIcon }
type SegmentsProps<Value> = { label: string; choices: Choice<Value>[]; chosen: Value; onChoose: (value: Value) => void }

export function Segments<Value extends string | number | boolean | undefined>({ label, choices, chosen, onChoose }: SegmentsProps<Value>) {
  return (
    <fieldset className="space-y-1">
      <legend className="font-medium text-ui">{label}</legend>
      <div className="flex w-full rounded-md border border-edge p-0.5">
        {choices.map(({ value, label: name, icon: Icon }) => (
          <button
            key={String(value)}
            type="button"
            aria-pressed={value === chosen}
            aria-label={name}
            title={name}
            className="flex h-7 flex-1 items-center justify-center rounded px-2 text-muted text-xs aria-pressed:bg-accent-soft aria-pressed:text-ink pointer-coarse:h-10 [&>svg]:size-4"
            onClick={() => onChoose(value)}
          >
            {Icon ? <Icon aria-hidden="true" /> : name}
          </button>
        ))}
      </div>
    </fieldset>
  )
}

const ALIGNMENTS: Choice<string>[] = [
  { value: 'left', label: 'Left', icon: AlignLeft },
  { value: 'center', label: 'Centre', icon: AlignCenter },
  { value: 'right', label: 'Right', icon: AlignRight },
]

type AlignInputProps = { align: unknown; standard?: string; onAlign: (align: string) => void }

export const AlignInput = ({ align, standard = 'left', onAlign }: AlignInputProps) => (
  <Segments label="Alignment" choices={ALIGNMENTS} chosen={typeof align === 'string' ? align : standard} onChoose={onAlign} />
)

type LinkInputProps = {
  label: string
  href: string
  hint?: ReactNode
  /** Whether the text can be stored. */
  isValid?: (text: string) => boolean
  onHref: (href: string) => void
}

/** `example.com` becomes `https://example.com` when the field is left. */
export function LinkInput({ label, href, hint, isValid = isLinkTarget, onHref }: LinkInputProps) {
  const [typed, setTyped] = useState(href)
  const [known, setKnown] = useState(href)
  if (known !== href) {
    setKnown(href)
    setTyped(href)
  }
  const isWrong = typed.trim() !== '' && !isValid(typed)
  function change(text: string) {
    setTyped(text)
    if (text.trim() !== '' && !isValid(text)) return
    setKnown(text.trim())
    onHref(text.trim())
  }
  return (
    <Field name="href" label={label} hint={isWrong ? 'Must begin with https://, mailto:, tel: or a variable.' : hint}>
      <Input
        value={typed}
        placeholder="https://"
        inputMode="url"
        aria-invalid={isWrong || undefined}
        maxLength={2_000}
        autoComplete="off"
        onChange={(event) => change(event.target.value)}
        onBlur={() => isWrong && /^[\w-]+(?:\.[\w-]+)+/.test(typed.trim()) && change(`https://${typed.trim()}`)}
      />
    </Field>
  )
}

type NumberInputProps = {
  label: string
  value: number | null | undefined
  min: number
  max: number
  placeholder?: string
  hint?: string
  /** Undefined: not set. */
  onValue: (value: number | undefined) => void
}

export function NumberInput({ label, value, min, max, placeholder, hint, onValue }: NumberInputProps) {
  const [typed, setTyped] = useState(value ? String(value) : '')
  const [known, setKnown] = useState(value)
  if (known !== value) {
    setKnown(value)
    setTyped(value === null || value === undefined ? '' : String(value))
  }
  const isWrong = typed !== '' && !(/^\d+$/.test(typed) && Number(typed) >= min && Number(typed) <= max)
  function change(text: string) {
    setTyped(text)
    const number = text === '' ? undefined : Number(text)
    if (number !== undefined && !(/^\d+$/.test(text) && number >= min && number <= max)) return
    setKnown(number)
    onValue(number)
  }
  return (
    <Field name={label} label={label} hint={isWrong ? `From ${min} to ${max}.` : hint}>
      <Input
        inputMode="numeric"
        value={typed}
        placeholder={placeholder}
        aria-invalid={isWrong || undefined}
        autoComplete="off"
        onChange={(event) => change(event.target.value)}
      />
    </Field>
  )
}

type ColorInputProps = { label: string; color: string | null | undefined; standard: string; onColor: (color: string | undefined) => void }

/** `standard` is the colour without a choice. */
export function ColorInput({ label, color, standard, onColor }: ColorInputProps) {
  const [typed, setTyped] = useState(color ?? '')
  const [known, setKnown] = useState(color)
  if (known !== color) {
    setKnown(color)
    setTyped(color ?? '')
  }
  const isColor = (text: string) => /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)
  function change(text: string) {
    setTyped(text)
    if (text !== '' && !isColor(text)) return
    setKnown(text || undefined)
    onColor(text || undefined)
  }
  const isWrong = typed !== '' && !isColor(typed)
  return (
    <Field name={label} label={label} hint={isWrong ? 'Must be a colour such as #0b6e82.' : undefined}>
      <span className="flex items-center gap-2">
        <input
          type="color"
          aria-label={`${label}: choose`}
          className="size-9 shrink-0 cursor-pointer rounded-md border border-edge bg-surface p-1 max-sm:size-11"
          value={isColor(typed) ? longForm(typed) : standard}
          onChange={(event) => change(event.target.value)}
        />
        <Input
          value={typed}
          placeholder={standard}
          maxLength={7}
          spellCheck={false}
          autoComplete="off"
          aria-invalid={isWrong || undefined}
          onChange={(event) => change(event.target.value.trim())}
        />
        {typed && (
          <Button size="sm" variant="quiet" onClick={() => change('')}>
            Reset
          </Button>
        )}
      </span>
    </Field>
  )
}

/** The colour input knows only six digits. */
const longForm = (color: string) => (color.length === 4 ? `#${[...color.slice(1)].map((digit) => digit + digit).join('')}` : color)
