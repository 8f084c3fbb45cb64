type Choice = { value: string; label: string; hint: string }

type ChoicesProps = { legend: string; name: string; choices: Choice[]; chosen: string; onChoose?: (value: string) => void }

/** Radio buttons with a hint each. Without `onChoose` the form around them reads the choice. */
export function Choices({ legend, name, choices, chosen, onChoose }: ChoicesProps) {
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium text-ui">{legend}</legend>
      <div className="divide-y divide-line rounded-lg border border-line">
        {choices.map(({ value, label, hint }) => (
          <label key={value} className="flex cursor-pointer gap-3 px-3 py-2.5 has-checked:bg-accent-soft/60">
            <input
              type="radio"
              name={name}
              value={value}
              {...(onChoose ? { checked: value === chosen, onChange: () => onChoose(value) } : { defaultChecked: value === chosen })}
              className="mt-0.5 size-4 shrink-0 accent-accent"
            />
            <span className="text-ui">
              <span className="block font-medium">{label}</span>
              <span className="block text-muted">{hint}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
