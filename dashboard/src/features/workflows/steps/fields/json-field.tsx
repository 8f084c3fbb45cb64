import { type ReactNode, useContext, useEffect, useState } from 'react'
import { Field } from '../../../../ui/form/field.tsx'
import { TextArea } from '../../../../ui/form/input.tsx'
import { InvalidInputs } from './invalid-inputs.ts'

type JsonFieldProps = {
  /** Unique in the editor. */
  id: string
  label: string
  hint: ReactNode
  /** Undefined is an empty field. */
  value: unknown
  rows?: number
  onChange: (value: unknown) => void
}

/** JSON as text. While the text is no JSON the last value stays, and the editor cannot save. */
export function JsonField({ id, label, hint, value, rows = 4, onChange }: JsonFieldProps) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const report = useContext(InvalidInputs)
  const isInvalid = parseJson(text) === INVALID
  // biome-ignore lint/correctness/useExhaustiveDependencies: the reporting function is new on every render
  useEffect(() => {
    report(id, isInvalid)
    return () => report(id, false)
  }, [id, isInvalid])
  return (
    <Field name={id} label={label} hint={isInvalid ? 'This is not valid JSON yet.' : hint}>
      <TextArea
        rows={rows}
        spellCheck={false}
        className="font-mono"
        value={text}
        aria-invalid={isInvalid || undefined}
        onChange={(event) => {
          setText(event.target.value)
          const parsed = parseJson(event.target.value)
          if (parsed !== INVALID) onChange(parsed)
        }}
      />
    </Field>
  )
}

const INVALID = Symbol('invalid')

function parseJson(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return INVALID
  }
}
