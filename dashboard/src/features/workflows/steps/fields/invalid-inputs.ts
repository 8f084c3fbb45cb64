import { createContext } from 'react'

/** Reports to the editor whether the text of a field is invalid. The steps cannot be saved while one is. */
export const InvalidInputs = createContext<(id: string, isInvalid: boolean) => void>(() => {})
