const MAX_SUGGESTED = 200

/** Suggestions of a text field: `<Input list={id} />`. */
export function Suggestions({ id, values }: { id: string; values: string[] }) {
  return (
    <datalist id={id}>
      {values.slice(0, MAX_SUGGESTED).map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  )
}
